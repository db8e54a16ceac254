import Dispatch
import Observation

/// Detects whether code that reads a store is tracked.
///
/// Holds a registrar, of a store or of a thread.
final class ReadProbe: Observable, @unchecked Sendable {
  // because all of its properties are constants
  let registrar = ObservationRegistrar()
  // A local copy, because access to a global is a call.
  private let path: KeyPath<ReadProbe, UInt64> = TrackedRead.probe

  subscript(read: TrackedRead) -> UInt64 { 0 }

  /// Returns whether the code that runs here is tracked.
  ///
  /// If so, it is then also tracked as reading from this registrar.
  func isTracked(on thread: ThreadState) -> Bool {
    thread.fields.pointee.readIsTracked = false
    registrar.access(self, keyPath: path)
    return thread.fields.pointee.readIsTracked
  }

  /// Whether the registrar hashes key paths as `TrackedRead` expects.
  ///
  /// If not, every read counts as tracked.
  ///
  /// Determined once, on another thread, since the calling code may be tracked.
  static let isRight: Bool = {
    let (isRight, isDone) = (Locked(false), DispatchSemaphore(value: 0))
    HelperThreads.run {
      let (probe, thread) = (ReadProbe(), ThreadState.current)
      let isOutside = probe.isTracked(on: thread)
      let isInside = withObservationTracking {
        probe.isTracked(on: thread)
      } onChange: {
      }
      isRight.withLockOfProcess { $0 = isInside && !isOutside }
      isDone.signal()
    }
    isDone.wait()
    return isRight.withLockOfProcess { $0 }
  }()
}
