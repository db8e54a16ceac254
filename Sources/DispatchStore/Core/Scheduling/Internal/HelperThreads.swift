import Dispatch
import Foundation

/// Threads of the library, for work that must not wait until the system has a thread for it.
///
/// The system provides some 250 threads, and adds one a second while those that it has block. A helper begins at
/// once. Some helpers wait a second for further work.
enum HelperThreads {
  private static let idle = Locked<[Helper]>([])
  private static let mostIdle = 4 * ProcessInfo.processInfo.activeProcessorCount

  typealias Work = @Sendable () -> Void

  private final class Helper: Sendable {
    private let work: Locked<Work?>
    private let hasWork = DispatchSemaphore(value: 0)

    init(_ work: @escaping Work) {
      self.work = Locked(work)
    }

    func give(_ work: @escaping Work) {
      self.work.withLockOfProcess { $0 = work }
      hasWork.signal()
    }

    /// Waits for the next work; returns nil if none comes for a while.
    func next() -> Work? {
      let isIdle = idle.withLockOfProcess { idle in
        if idle.count < mostIdle { idle.append(self) }
        return idle.last === self
      }
      guard isIdle else { return nil }
      if hasWork.wait(timeout: .now() + 1) == .timedOut {
        let hasLeft = idle.withLockOfProcess { idle in
          let count = idle.count
          idle.removeAll { $0 === self }
          return idle.count < count
        }
        if hasLeft { return nil }
        // Another thread has taken this helper out of the list, and gives it work.
        hasWork.wait()
      }
      return takeWork()
    }

    func takeWork() -> Work? { work.withLockOfProcess { $0.take() } }
  }

  /// Runs a closure on a thread that does nothing else meanwhile.
  static func run(_ work: @escaping Work) {
    if let helper = idle.withLockOfProcess({ $0.popLast() }) {
      helper.give(work)
    } else if !start(work) {
      // The process has reached the system's limit of threads, but the system's queues may still have one.
      DispatchQueue(label: "DispatchStore.helper").async(execute: work)
    }
  }

  private static func start(_ work: @escaping Work) -> Bool {
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    let helper = Unmanaged.passRetained(Helper(work))
    let error = pthread_create(
      &thread, nil,
      {
        pthread_detach(pthread_self())
        HelperThreads.live($0)
        return nil
      }, helper.toOpaque())
    if error != 0 { helper.release() }
    return error == 0
  }

  private static func live(_ address: UnsafeMutableRawPointer?) {
    let helper = Unmanaged<Helper>.fromOpaque(address!).takeRetainedValue()
    var work = helper.takeWork()
    while let present = work {
      work = nil
      #if canImport(ObjectiveC)
        autoreleasepool(invoking: present)
      #else
        present()
      #endif
      work = helper.next()
    }
  }
}
