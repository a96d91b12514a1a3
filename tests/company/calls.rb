# Calls CUDA through Fiddle, from threads and a child.
require 'fiddle'
$stdout.sync = true
library = Fiddle.dlopen(ENV['GUEST_PLUG'])
go = Fiddle::Function.new(library['plug_go'], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
sums = (1..5).map { Thread.new { (1..10).sum { go.call(5) } } }.map(&:value)
child = fork { exit!(go.call(7) == 7 ? 0 : 1) }
Process.wait(child)
puts "calls #{2 * (sums.sum + 7)}", $?.exitstatus
