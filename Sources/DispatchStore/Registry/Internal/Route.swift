import Synchronization

/// The stores that answer to a type of action, and all that can be worked out once about them.
///
/// A snapshot that one thread takes of its dispatcher's registry and keeps until the registry has
/// changed. Dispatches refer to it without a reference count, which producers and consumers would
/// fight for: the thread counts those that it gave out, consumers those that have ended, each in a
/// cache line of its own. It goes when it was retired and both counts are equal.
final class Route: @unchecked Sendable {
  // because what changes is atomic
  /// Those that answer, in the order in which they run unless a reducer refines it.
  let entries: [StoreEntry]
  let identifiers: [String]
  /// Where there is but one.
  let onlyIdentifier: String?
  /// By place: the earlier places that it waits for; nil where none waits.
  let prerequisites: [[Int]]?
  /// Whether the stores can be ordered as declared; where not, a dispatch has to say why.
  let isOrdered: Bool
  /// The same in order of registration, from which a refined order is worked out.
  let registered: [StoreEntry]
  let chain: MiddlewareChain
  /// Whether a dispatch can run through them as declared, store after store, as long as each ends at once.
  let isStraight: Bool
  /// The same for the concurrent queue, where one that may block holds up no store but those that wait
  /// for it.
  private let isStraightInPool: Bool
  /// By turn: the places in the order in which they run there; nil where it is the same.
  let poolOrder: [Int]?
  /// Whether there are no middlewares, and no reducer has operations of its own either.
  let isLight: Bool
  /// How many of them, from the first on, only reduce.
  let reductionCount: Int
  /// Whether middlewares are to be told of a store.
  let isHeard: Bool
  /// By place, where a dispatch can run straight.
  private let steps: UnsafeMutablePointer<Step>
  let count: Int

  /// What a straight run needs of an entry, which refers to it.
  private struct Step {
    let calls: Unmanaged<ReducerCalls>
    let store: Unmanaged<AnyObject>
    let answer: ReducerAnswer
  }
  /// Keeps the count below in a line that dispatching threads do not read.
  private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0, 0, 0, 0, 0, 0, 0, 0
  )
  /// Uses that have ended; from retirement on, less those that were given out.
  private let ended = Atomic<Int>(0)

  /// - Parameter order: Nil where the stores can't be ordered.
  init(_ registered: [StoreEntry], order: WaitOrder?, chain: MiddlewareChain) {
    self.registered = registered
    self.chain = chain
    isOrdered = order != nil
    entries = order?.order.map { registered[$0] } ?? registered
    identifiers = entries.map(\.identifier)
    onlyIdentifier = identifiers.count == 1 ? identifiers[0] : nil
    prerequisites = order?.prerequisitesInOrder
    isStraight =
      isOrdered && !chain.isWitnessed && entries.count < Dispatch.noPlace
      && entries.allSatisfy { $0.ownership == .strong && !$0.overrides.waitFor }
    let poolOrder = PoolOrder(
      prerequisites: prerequisites, mayBlock: entries.map { $0.overrides.answer != .reduction })
    isStraightInPool = isStraight && poolOrder != nil
    self.poolOrder = poolOrder?.permutation
    isHeard = !chain.middlewares.isEmpty && !entries.isEmpty
    isLight = isStraight && !isHeard && !entries.contains { $0.overrides.answer == .operation }
    reductionCount = entries.prefix { $0.overrides.answer == .reduction }.count
    count = entries.count
    steps = .allocate(capacity: isStraight ? count : 0)
    for (place, entry) in entries.enumerated() where isStraight {
      (steps + place).initialize(
        to: Step(
          calls: .passUnretained(entry.calls!), store: .passUnretained(entry.object!),
          answer: entry.overrides.answer))
    }
    _ = Unmanaged.passRetained(self)
  }

  deinit {
    steps.deallocate()
  }

  /// Whether the store's reducer applies actions.
  @inline(__always)
  func applies(at place: Int) -> Bool {
    steps[place].answer == .application
  }

  /// Calls the reducer of a store, where that only reduces.
  @inline(__always)
  func reduce(
    _ action: UnsafeRawPointer, at place: Int, on thread: ThreadState
  ) -> ReducerCalls.Answer {
    steps[place].calls._withUnsafeGuaranteedRef { $0.reduce(action, thread) }
  }

  /// Calls the reducer of a store, where that has no operations of its own.
  @inline(__always)
  func answerLightly(
    _ action: UnsafeRawPointer, at place: Int, on thread: ThreadState
  ) -> ReducerCalls.Answer {
    let step = steps + place
    return step.pointee.calls._withUnsafeGuaranteedRef { calls in
      if step.pointee.answer == .reduction { return calls.reduce(action, thread) }
      return step.pointee.store._withUnsafeGuaranteedRef { calls.apply(action, $0) }
    }
  }

  /// Runs a store's part of a dispatch on this thread, to its end where it can.
  @inline(__always)
  func run(
    _ action: UnsafeRawPointer, at place: Int, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    let step = steps + place
    return step.pointee.calls._withUnsafeGuaranteedRef { calls in
      switch step.pointee.answer {
      case .reduction:
        let answer = calls.reduce(action, thread)
        guard case .observed = answer else { return StraightStep(answer) }
        return step.pointee.store._withUnsafeGuaranteedRef {
          calls.reduceObserved(action, $0, dispatch, thread)
        }
      case .application:
        return step.pointee.store._withUnsafeGuaranteedRef {
          StraightStep(calls.apply(action, $0))
        }
      case .operation:
        return step.pointee.store._withUnsafeGuaranteedRef {
          calls.answer(action, $0, dispatch, thread)
        }
      }
    }
  }

  /// Stores that may block run beside each other in the concurrent queue.
  func runsStraight(in mode: Dispatcher.Mode) -> Bool {
    mode.isAsync ? isStraightInPool : isStraight
  }

  /// A dispatch that refers to it has ended.
  @inline(__always)
  func end() {
    if ended.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == 0 { release() }
  }

  /// No further dispatch refers to it: it goes with the last of those that do.
  func retire(after outstanding: Int) {
    if ended.wrappingSubtract(outstanding, ordering: .acquiringAndReleasing).newValue == 0 {
      release()
    }
  }

  private func release() {
    Unmanaged.passUnretained(self).release()
  }
}
