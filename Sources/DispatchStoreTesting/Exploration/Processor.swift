#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Keeps the threads of a world on one processor, because handing over the baton is much faster there.
enum Processor {
  /// Pins the calling thread, and all threads that it creates, to one of its allowed processors.
  static func pin(to index: Int) {
    #if os(Linux)
      guard let get: Affinity = function("sched_getaffinity"),
        let set: Affinity = function("sched_setaffinity")
      else { return }
      var mask = [UInt8](repeating: 0, count: 128)
      guard get(0, mask.count, &mask) >= 0 else { return }
      let allowed = (0..<mask.count * 8).filter { mask[$0 / 8] & (1 << UInt8($0 % 8)) != 0 }
      guard !allowed.isEmpty else { return }
      let chosen = allowed[index % allowed.count]
      mask = [UInt8](repeating: 0, count: mask.count)
      mask[chosen / 8] = 1 << UInt8(chosen % 8)
      _ = set(0, mask.count, &mask)
    #endif
  }

  #if os(Linux)
    private typealias Affinity = @convention(c) (Int32, Int, UnsafeMutablePointer<UInt8>) -> Int32

    /// Looks a function up at run time, because the system's headers declare it for GNU sources only.
    private static func function(_ name: String) -> Affinity? {
      dlsym(nil, name).map { unsafeBitCast($0, to: Affinity.self) }
    }
  #endif
}
