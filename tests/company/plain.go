// Without C: a static program that makes its system calls itself.
package main

import "fmt"

func main() { fmt.Println("no calls") }
