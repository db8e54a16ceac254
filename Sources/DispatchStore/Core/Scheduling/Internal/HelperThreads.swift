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
    if idle.add(work) || start() { return }
    // The process has reached the system's limit of threads, but the system's queues may still have one.
    DispatchQueue(label: "DispatchStore.helper").async { live() }
  }

  /// Runs a closure on such a thread, or on one of a simulated world.
  static func run(in world: (any SimulatedWorld)?, _ work: @escaping Work) {
    if let world { world.run(.substitute, work) } else { run(work) }
  }

  private static func start() -> Bool {
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    let error = pthread_create(
      &thread, nil,
      { _ in
        pthread_detach(pthread_self())
        HelperThreads.live()
        return nil
      }, nil)
    return error == 0
  }

  private static func live() {
    while let work = idle.next() {
      #if canImport(ObjectiveC)
        autoreleasepool(invoking: work)
      #else
        work()
      #endif
    }
  }
}

/// The work that helpers are about to take, and the number of those that wait for some.
private final class IdleHelpers: @unchecked Sendable {
  // because `condition` guards what changes
  private let condition = NSCondition()
  private var works = FIFO<HelperThreads.Work>()
  private var count = 0
  private static let most = 4 * ProcessInfo.processInfo.activeProcessorCount

  /// Adds work; returns whether an idle helper takes it: if not, the caller adds a helper.
  func add(_ work: @escaping HelperThreads.Work) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    works.append(work)
    condition.signal()
    return works.count <= count
  }

  /// Takes the next work, or waits for it; returns nil if none comes for a while, or if enough others wait.
  func next() -> HelperThreads.Work? {
    condition.lock()
    defer { condition.unlock() }
    guard !works.isEmpty || count < Self.most else { return nil }
    count += 1
    // By the date: while that is set back, idle threads stay longer, and still take work.
    let end = Date(timeIntervalSinceNow: 1)
    while works.isEmpty, condition.wait(until: end) {}
    // Also after that time: another thread may have counted on this one.
    count -= 1
    return works.popFirst()
  }
}
