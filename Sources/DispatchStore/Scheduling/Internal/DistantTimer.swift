import Synchronization

/// A timer that its owner sets again and again, for deadlines that are mostly far ahead and hardly ever come.
///
/// The owner sets and unsets it in a word of its own, without a lock. A `TimerQueue` goes through all such timers before
/// the first of their deadlines can come, and takes those that are near by then into its heap.
class DistantTimer: @unchecked Sendable {
  // because the deadline is atomic, and the queue's lock guards what changes beside it
  /// The queue that goes through it; nil where none does.
  let queue: TimerQueue?
  private let time: Atomic<Int64>
  /// Among those that the queue goes through; nil where it is none of them.
  fileprivate(set) var index: Int?
  /// In the queue's heap.
  var token: TimerToken?

  /// - Parameter deadline: In nanoseconds of the dispatcher's clock.
  init(at deadline: Int64, in queue: TimerQueue? = nil) {
    time = Atomic(deadline)
    self.queue = queue
    queue?.insert(self)
  }

  /// To be changed while it is not set.
  var deadline: Int64 {
    get { time.load(ordering: .relaxed) }
    set { time.store(newValue, ordering: .relaxed) }
  }

  /// Whether it is set, and not in the heap; in one order with all that the owner and the queue do to it and the horizon.
  var isSet: Bool { fatalError("DistantTimer is abstract.") }

  /// Notes with the owner that the heap has it from now on; what it fires, or nil where it is no longer set.
  ///
  /// Called under the queue's lock, which an owner that finds that note takes before it goes on.
  func enterHeap() -> (any TimerTarget)? { fatalError("DistantTimer is abstract.") }

  deinit {
    queue?.remove(self)
  }
}

/// Those that a queue goes through, in any order.
struct DistantTimers {
  private var timers: [Unmanaged<DistantTimer>] = []

  /// To go through all takes less than a twentieth of that time.
  var window: Int64 { max(1_000_000, 200 * Int64(timers.count)) }

  mutating func insert(_ timer: DistantTimer) {
    timer.index = timers.count
    timers.append(.passUnretained(timer))
  }

  /// Without effect where it is none of them.
  mutating func remove(_ timer: DistantTimer) {
    if let index = timer.index.take() { remove(at: index) }
  }

  /// Removes those at these places, which may be gone already.
  mutating func remove(at indices: [Int]) {
    // From the last one on: removing moves those behind a place alone.
    for index in indices.sorted(by: >) { remove(at: index) }
  }

  private mutating func remove(at index: Int) {
    let last = timers.removeLast()
    guard index < timers.count else { return }
    timers[index] = last
    last._withUnsafeGuaranteedRef { $0.index = index }
  }

  /// Calls a closure for those whose deadlines come by a time; the earliest deadline of the others.
  func takeDue(by end: Int64, _ body: (DistantTimer, any TimerTarget) -> Void) -> Int64? {
    var earliest: Int64?
    for timer in timers {
      timer._withUnsafeGuaranteedRef { timer in
        guard timer.isSet else { return }
        let deadline = timer.deadline
        if deadline <= end {
          if let target = timer.enterHeap() { body(timer, target) }
        } else {
          earliest = min(earliest ?? .max, deadline)
        }
      }
    }
    return earliest
  }
}
