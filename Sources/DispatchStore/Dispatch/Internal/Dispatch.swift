import Synchronization

/// One call of `dispatch`: one action, or several in sequence, on their way to a result.
///
/// It runs in steps at its scheduler: a lane, the pool, the main queue or the caller's thread. Mostly that
/// is one step, straight through its stores (`Dispatch+Straight.swift`); it is then no more than this
/// record, and is used again once it has ended and nobody has a handle. `DispatchDetails` come along
/// where others take part, and rounds where a store can't end at once (`Dispatch+Rounds.swift`).
///
/// A pending dispatch is 152 bytes. What is not atomic belongs to the step that runs.
@usableFromInline
final class Dispatch: DispatchContext, @unchecked Sendable {
  private(set) var id = TransactionID(rawValue: 0)
  private var parentID = UInt64.max
  /// The next one in a lane's inbox, or among spare ones.
  @exclusivity(unchecked) var next: Unmanaged<Dispatch>?
  @exclusivity(unchecked) private(set) var responders: Unmanaged<Route>?
  /// While it is pending or runs, its scheduler is busy and so there.
  private(set) var activeScheduler: Unmanaged<Scheduler>?
  private(set) var callSite = CallSite(fileID: "", line: 0)
  /// While it is pending.
  @exclusivity(unchecked) var action: (any ActionType)?
  @exclusivity(unchecked) private(set) var completion: Completion?
  private let word = Atomic<UInt8>(Dispatch.isWaiting)
  /// The place of the store whose part runs straight.
  @exclusivity(unchecked) var place = UInt16.max
  /// The context around a straight `.sync` run; where there are middlewares, their `Hearing`.
  @exclusivity(unchecked) var around: DispatchContext?
  /// The details' address: set once, and released with the dispatch.
  private let reference = Atomic<UInt>(0)

  /// What `word` says: its phase, until it has details; those then have the state.
  private static let isWaiting: UInt8 = 0
  private static let isRunning: UInt8 = 1
  private static let hasDetails: UInt8 = 2

  /// More stores than a straight run can count.
  static let noPlace = Int(UInt16.max)

  override init() {}

  /// Becomes a dispatch that may run straight; `responders` were given out to it.
  @inline(__always)
  func begin(
    to responders: Unmanaged<Route>, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState, as id: TransactionID? = nil
  ) {
    begin(callSite, completion, on: thread, as: id ?? .make(on: thread))
    self.responders = responders
    word.store(Self.isWaiting, ordering: .relaxed)
  }

  /// Becomes a dispatch that can't run straight; its details follow.
  func begin(_ request: DispatchRequest, on thread: ThreadState) {
    begin(request.callSite, request.completion, on: thread, as: .make(on: thread))
  }

  @inline(__always)
  private func begin(
    _ callSite: CallSite, _ completion: Completion?, on thread: ThreadState, as id: TransactionID
  ) {
    self.id = id
    parentID = DispatchContext.currentTransaction(on: thread)
    self.callSite = callSite
    self.completion = completion
  }

  /// Enters the scheduler that will take it.
  func enter(_ scheduler: Scheduler) {
    activeScheduler = Unmanaged.passUnretained(scheduler)
  }

  /// Gets the action that it keeps while it is pending; it has none.
  @inline(__always)
  func put(_ action: __owned any ActionType) {
    // Nothing is there to be let go of, which would be looked at.
    withUnsafeMutablePointer(to: &self.action) { $0.initialize(to: action) }
  }

  /// Gives its action up.
  @inline(__always)
  func takeAction() -> any ActionType {
    withUnsafeMutablePointer(to: &action) { place in
      // Moved, where reading and clearing it would copy it.
      let action = UnsafeMutableRawPointer(place).assumingMemoryBound(to: (any ActionType).self)
        .move()
      place.initialize(to: nil)
      return action
    }
  }

  /// Gets the details that it is to begin with, before anybody knows it.
  func expand(_ details: DispatchDetails) {
    word.store(Self.hasDetails, ordering: .relaxed)
    _ = settle(details)
  }

  var parent: TransactionID? {
    parentID == UInt64.max ? nil : TransactionID(rawValue: parentID)
  }

  // MARK: Context

  override var dispatch: Dispatch { self }
  @usableFromInline
  override var transaction: TransactionID { id }
  override var owner: (any CommitOwner)? { Int(place) == Self.noPlace ? nil : self }
  override var outer: DispatchContext? { around ?? details?.outer }

  // MARK: Details

  /// What others see of it; nil where nobody has looked yet.
  var details: DispatchDetails? {
    @inline(__always) get {
      UnsafeRawPointer(bitPattern: reference.load(ordering: .acquiring)).map {
        Unmanaged<DispatchDetails>.fromOpaque($0).takeUnretainedValue()
      }
    }
  }

  /// Those that are there, or else these.
  private func settle(_ details: DispatchDetails) -> DispatchDetails {
    let mine = Unmanaged.passRetained(details)
    let (isMine, present) = reference.compareExchange(
      expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
    if isMine { return details }
    mine.release()
    return Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: present)!).takeUnretainedValue()
  }

  deinit {
    UnsafeRawPointer(bitPattern: reference.load(ordering: .acquiring)).map {
      Unmanaged<DispatchDetails>.fromOpaque($0).release()
    }
  }

  /// The details, made where there are none: the state is handed over to them.
  ///
  /// The step that runs the dispatch meets `hasDetails` before it can end, and waits at the lock until
  /// the state is there. So the scheduler that is taken over here still exists.
  func involve() -> DispatchDetails {
    if details == nil { yieldPoint(.involve, id.description) }
    return handOver()
  }

  /// The same where nobody else can be about to do it.
  func handOver() -> DispatchDetails {
    let details = details ?? settle(DispatchDetails())
    details.adopt {
      let phase = word.bitwiseOr(Self.hasDetails, ordering: .acquiringAndReleasing).oldValue
      return (
        DispatchState(isRunning: phase == Self.isRunning), activeScheduler?.takeUnretainedValue()
      )
    }
    return details
  }

  /// Hands the state over where the end begins: mostly nobody has looked yet.
  func handOverToEnd() -> DispatchDetails {
    if self.details == nil {
      let made = DispatchDetails(endingAt: activeScheduler?.takeUnretainedValue())
      if settle(made) === made {
        word.bitwiseOr(Self.hasDetails, ordering: .releasing)
        return made
      }
    }
    let details = handOver()
    details.withState { $0.beginEnding() }
    details.clear()
    return details
  }

  /// Its thread runs it, and nobody else knows it.
  @inline(__always)
  func beginHere(on thread: ThreadState) {
    word.store(Self.isRunning, ordering: .relaxed)
    activeScheduler = nil
    // In an `async` block, what waits here holds that up.
    if parentID != UInt64.max, thread.context == nil {
      if let task = DispatchContext.blocked(on: thread) { involve().outer = task }
    }
  }

  /// The scheduler took it up, and nobody takes part: it runs.
  @inline(__always)
  func beginStraight() -> Bool {
    yieldPoint(.takeUp, id.description)
    return word.compareExchange(
      expected: Self.isWaiting, desired: Self.isRunning, ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// The scheduler; for a dispatch that has not ended.
  var scheduler: Scheduler {
    handOver().scheduler ?? SyncLoop.callerThread
  }

  var isSynchronous: Bool { scheduler is SyncLoop }

  /// Lets go of all that only the way to the end needed.
  @inline(__always)
  func clear() {
    noteEnd()
    action = nil
    completion = nil
    around = nil
    responders.take()?._withUnsafeGuaranteedRef { $0.end() }
  }

  /// The handle that is given out where all stores finish at once.
  var finishedHandle: DispatchHandle {
    responders.unsafelyUnwrapped._withUnsafeGuaranteedRef { DispatchHandle(finished: id, $0) }
  }

  /// Whether middlewares are to be told.
  var isHeard: Bool {
    @inline(__always) get { responders.unsafelyUnwrapped._withUnsafeGuaranteedRef(\.isHeard) }
  }

  func takeCompletion() -> Completion? {
    completion.take()
  }
}
