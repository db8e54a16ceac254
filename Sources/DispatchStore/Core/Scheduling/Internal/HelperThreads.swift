import Dispatch
import Foundation

/// Threads of the library, for work that must not wait until the system has a thread for it.
///
/// The system provides some 250 threads, and adds one a second while those that it has block. A helper begins at
/// once. Some helpers wait a second for further work.
enum HelperThreads {
  typealias Work = @Sendable () -> Void

  private static let idle = IdleHelpers()

  /// Runs a closure on a thread that does nothing else meanwhile.
  static func run(_ work: @escaping Work) {
    if idle.take(work) || start(work) { return }
    // The process has reached the system's limit of threads, but the system's queues may still have one.
    DispatchQueue(label: "DispatchStore.helper").async(execute: work)
  }

  /// Runs a closure on such a thread, or on one of a simulated world.
  static func run(in world: (any SimulatedWorld)?, _ work: @escaping Work) {
    if let world { world.run(.substitute, work) } else { run(work) }
  }

  private final class FirstWork: Sendable {
    let work: Work

    init(_ work: @escaping Work) { self.work = work }
  }

  private static func start(_ work: @escaping Work) -> Bool {
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    let first = Unmanaged.passRetained(FirstWork(work))
    let error = pthread_create(
      &thread, nil,
      {
        pthread_detach(pthread_self())
        HelperThreads.live($0)
        return nil
      }, first.toOpaque())
    if error != 0 { first.release() }
    return error == 0
  }

  private static func live(_ address: UnsafeMutableRawPointer?) {
    var work: Work? = Unmanaged<FirstWork>.fromOpaque(address!).takeRetainedValue().work
    while let present = work {
      work = nil
      #if canImport(ObjectiveC)
        autoreleasepool(invoking: present)
      #else
        present()
      #endif
      work = idle.next()
    }
  }
}

/// The helpers that wait for further work, and the work that these are about to take.
private final class IdleHelpers: @unchecked Sendable {
  // because `condition` guards what changes
  private let condition = NSCondition()
  private var works = FIFO<HelperThreads.Work>()
  private var count = 0
  private static let most = 4 * ProcessInfo.processInfo.activeProcessorCount

  /// Takes work for an idle helper; returns false if each of them has some.
  func take(_ work: @escaping HelperThreads.Work) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    guard works.count < count else { return false }
    works.append(work)
    condition.signal()
    return true
  }

  /// Waits for the next work; returns nil if none comes for a while, or if enough others wait.
  func next() -> HelperThreads.Work? {
    condition.lock()
    defer { condition.unlock() }
    guard count < Self.most else { return nil }
    count += 1
    // By the date: while that is set back, idle threads stay longer, and still take work.
    let end = Date(timeIntervalSinceNow: 1)
    while works.isEmpty, condition.wait(until: end) {}
    // Also after that time: another thread may have counted on this one.
    count -= 1
    return works.popFirst()
  }
}
