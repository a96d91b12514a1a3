/** Calls CUDA through JNI, from threads, among collections of garbage. */
public class Calls {
    static native int go(int calls);

    public static void main(String[] arguments) throws Exception {
        System.load(System.getenv("GUEST_PLUG"));
        Thread[] all = new Thread[10];
        int[] sums = new int[all.length];
        for (int i = 0; i < all.length; i++) {
            final int own = i;
            all[i] = new Thread(() -> {
                for (int k = 0; k < 20; k++) {
                    sums[own] += go(5);
                    byte[] garbage = new byte[1 << 16];
                }
            });
            all[i].start();
        }
        int sum = 0;
        for (int i = 0; i < all.length; i++) {
            all[i].join();
            sum += sums[i];
        }
        System.gc();
        try {
            Object none = null;
            none.hashCode();
        } catch (NullPointerException e) {
            System.out.println("calls " + 2 * sum);
        }
    }
}
