/// The drainer's view of a lane: its inbox, its holder and the holder's steps.
struct LaneState {
  private var inbox = DispatchFIFO()
  /// The dispatch that was started and has not ended: it may run, wait for others, or be parked.
  ///
  /// Not a reference: a dispatch can be reused only if the drainer's reference is the only one.
  private var holder: Unmanaged<Dispatch>?
  /// The holder, while it is parked; otherwise its drainer or its task has the reference.
  private var parkedHolder: Dispatch?
  /// Whether the holder is parked and can run now.
  private var isUnparked = false
  /// The holder's next steps.
  private var steps = FIFO<@Sendable () -> Void>()
  private var skipped = SkippedDispatches()
  /// Whether dispatches are ordered by priority.
  ///
  /// If so, they are in the extras, not in the inbox, and pushed dispatches are taken in before each start.
  private(set) var hasPriorities = false
  /// Whether some wait in the extras; a drainer reads this in each turn, which costs less than a look there.
  private var hasPrioritized = false
  /// State that few lanes need; nil if this lane has needed none.
  private var extras: LaneExtras?

  /// Takes in the pushed dispatches, which are linked newest first.
  mutating func takeIn(_ top: Unmanaged<Dispatch>?) {
    if hasPriorities { return takeInByPriority(top) }
    inbox.append(newestFirst: isPlanted(.laneOrder) ? DispatchFIFO.reversed(top) : top)
  }

  private var isEmpty: Bool { inbox.isEmpty && !hasPrioritized }

  /// The dispatches that are ordered by priority, if there are such.
  private var prioritized: PriorityInbox? { hasPriorities ? extras?.prioritized : nil }

  private mutating func makeExtras() -> LaneExtras { extras.madeIfNil(LaneExtras()) }

  /// Notes that a dispatch in the inbox has ended; returns whether the ended ones are to be removed now.
  mutating func noteSkipped() -> Bool { skipped.note() }

  mutating func removeEnded() -> [Dispatch] {
    let (removed, rest) =
      hasPriorities
      ? changePrioritized { $0.prioritized.removeEnded() } : inbox.removeEnded()
    skipped.removed(leaving: rest)
    return removed
  }

  mutating func resume(_ step: @escaping @Sendable () -> Void) {
    steps.append(step)
  }

  /// Notes that a parked dispatch can run; returns whether it holds the lane, so that a drainer has to start it
  /// again.
  mutating func unpark(_ dispatch: Dispatch) -> Bool {
    guard isHolder(dispatch) else { return false }
    isUnparked = true
    return true
  }

  func isHolder(_ dispatch: Dispatch) -> Bool {
    holder?.toOpaque() == Unmanaged.passUnretained(dispatch).toOpaque()
  }

  /// Parks the holder, unless another thread has released it meanwhile.
  mutating func park(_ dispatch: Dispatch) {
    if isHolder(dispatch) { parkedHolder = dispatch }
  }

  /// Releases the holder; returns the lane's reference, for the caller to drop outside the lock.
  mutating func release(_ dispatch: Dispatch) -> Dispatch? {
    guard isHolder(dispatch) else { return nil }
    holder = nil
    isUnparked = false
    return parkedHolder.take()
  }

  /// Sets the holder to the record that a task has made for its dispatch, after it acquired the lane.
  mutating func hold(_ dispatch: Dispatch) {
    holder = .passUnretained(dispatch)
  }

  /// Whether the next start is a task, which needs no thread of the queue.
  var startsTask: Bool {
    if let first = holder ?? inbox.first { return first._withUnsafeGuaranteedRef(\.isOfTask) }
    return prioritized?.first?.isOfTask == true
  }

  /// Notes that the holder has ended in the step that started it.
  mutating func holderEnded() {
    holder = nil
  }

  /// The drainer's next action.
  enum Rest {
    /// Run the holder's next step.
    case step
    /// Start a dispatch.
    case start
    /// Nothing until the holder's next step.
    case held
    /// Nothing at all.
    case empty
  }

  var rest: Rest {
    if !steps.isEmpty { return .step }
    if holder != nil { return isUnparked ? .start : .held }
    return isEmpty ? .empty : .start
  }

  mutating func takeStep() -> @Sendable () -> Void {
    steps.popFirst()!
  }

  /// Takes the dispatch to start: the holder that was unparked, or the next one of the inbox.
  @inline(__always)
  mutating func takeStart() -> Dispatch {
    if let holder {
      let dispatch = holder.takeUnretainedValue()
      isUnparked = false
      parkedHolder = nil
      return dispatch
    }
    let dispatch = inbox.popFirst() ?? takeStartByPriority()
    holder = Unmanaged.passUnretained(dispatch)
    return dispatch
  }

  // MARK: Priorities

  /// Prepares for a push of a dispatch whose priority is not normal.
  mutating func expectPriority() {
    var inbox = DispatchFIFO()
    swap(&self.inbox, &inbox)
    changePrioritized { extras in
      extras.prioritized.expect()
      extras.append(&inbox)
    }
  }

  private mutating func changePrioritized<Result>(_ body: (LaneExtras) -> Result) -> Result {
    let extras = makeExtras()
    defer {
      hasPriorities = !extras.prioritized.isDone
      hasPrioritized = !extras.prioritized.isEmpty
    }
    return body(extras)
  }

  @inline(never)
  private mutating func takeInByPriority(_ top: Unmanaged<Dispatch>?) {
    var pushed = DispatchFIFO()
    pushed.append(newestFirst: top)
    changePrioritized { $0.append(&pushed) }
  }

  @inline(never)
  private mutating func takeStartByPriority() -> Dispatch {
    changePrioritized { $0.prioritized.popFirst()! }
  }

  // MARK: Places of dispatches in several lanes

  /// Adds a place, which stands for a dispatch that waits or runs in another lane.
  mutating func add(_ place: Dispatch, of dispatch: Dispatch) {
    makeExtras().owners[ObjectIdentifier(place)] = dispatch
  }

  /// Removes a place; returns its dispatch, for the caller to drop outside the lock.
  mutating func remove(_ place: Dispatch) -> Dispatch? {
    extras?.owners.removeValue(forKey: ObjectIdentifier(place))
  }

  /// The dispatch that an entry of the lane stands for: most stand for themselves.
  private func owner(of entry: Dispatch) -> Dispatch {
    extras?.owners[ObjectIdentifier(entry)] ?? entry
  }

  // MARK: For the wait graph

  var hasInbox: Bool { !isEmpty }

  mutating func noteHeldBack(_ dispatch: Dispatch) { makeExtras().heldBack.insert(dispatch) }

  /// Returns the dispatches that may precede a dispatch; nothing precedes the holder.
  func precedence(of dispatch: Dispatch) -> LanePrecedence {
    if isHolder(dispatch) { return LanePrecedence() }
    var precedence = LanePrecedence(holder: ownerOfHolder)
    for other in extras?.heldBack.present ?? [] {
      let (before, gateHoldsBack) = other.obstacles
      precedence.awaited += before.filter { !$0.hasEnded }
      if gateHoldsBack { precedence.gated.append(owner(of: other)) }
    }
    return precedence
  }

  /// Returns the holder, and the held-back dispatches in the inbox that came before a dispatch.
  ///
  /// There are none once the dispatch has left the inbox, perhaps since the caller saw it wait. If dispatches have
  /// priorities, it may overtake some of these, but none that comes later. Linear, if some are held back.
  ///
  /// - Parameter top: The dispatches not yet taken in, newest first.
  func exactPrecedence(of dispatch: Dispatch, top: Unmanaged<Dispatch>?) -> LanePrecedence {
    guard mayBeQueued(dispatch) else { return LanePrecedence() }
    var precedence = LanePrecedence(holder: ownerOfHolder)
    let present = extras?.heldBack.present ?? []
    if present.isEmpty { return precedence }
    let before = Set(queued(before: dispatch, top: top).map(ObjectIdentifier.init))
    precedence.gated = present.filter { before.contains(ObjectIdentifier($0)) }.map(owner)
      .filter { $0.isHeldBack || $0.isGated }
    return precedence
  }

  /// Whether tasks are in the inbox before a dispatch, or may overtake it; linear.
  ///
  /// If not, no task that comes later overtakes it.
  mutating func hasTask(before dispatch: Dispatch, top: Unmanaged<Dispatch>?) -> Bool {
    guard mayBeQueued(dispatch) else { return false }
    let hasTask = (hasPriorities ? queued(top: top)[...] : queued(before: dispatch, top: top))
      .contains { owner(of: $0).isOfTask }
    if !hasTask { makeExtras().beforeTasks.insert(dispatch) }
    return hasTask
  }

  /// Returns the holder and the inbox; linear.
  func order(top: Unmanaged<Dispatch>?) -> LaneOrder {
    var waiting = queued(top: top)
    if var prioritized {
      for dispatch in DispatchFIFO.linked(from: top).reversed() {
        prioritized.append(dispatch, keepsPlace: extras!.keepsPlace(dispatch))
      }
      waiting = prioritized.inOrder
    }
    return LaneOrder(holder: ownerOfHolder, waiting: waiting.map(owner))
  }

  private var ownerOfHolder: Dispatch? { holder.map { owner(of: $0.takeUnretainedValue()) } }

  /// Whether a dispatch may be in the inbox: it does not hold the lane, and has not left it.
  private func mayBeQueued(_ dispatch: Dispatch) -> Bool {
    !isHolder(dispatch) && (dispatch.isWaiting || isPlanted(.behindAllOnceGone))
  }

  /// Returns the dispatches in the inbox that came before one; none, if that is not there.
  private func queued(before dispatch: Dispatch, top: Unmanaged<Dispatch>?) -> ArraySlice<Dispatch>
  {
    let queued = queued(top: top)
    let index = queued.firstIndex { $0 === dispatch }
    return queued[..<(index ?? (isPlanted(.behindAllOnceGone) ? queued.count : 0))]
  }

  /// Returns the inbox, in the order in which dispatches came.
  private func queued(top: Unmanaged<Dispatch>?) -> [Dispatch] {
    (prioritized?.inPlaceOrder ?? inbox.all) + DispatchFIFO.linked(from: top).reversed()
  }
}

/// State that few lanes need, kept apart from the others' state.
private final class LaneExtras {
  /// The inbox, while dispatches of other than normal priority wait or are about to be pushed.
  var prioritized = PriorityInbox()
  /// The dispatches that waited for others when they were pushed, or had gates.
  var heldBack = WeakDispatches()
  /// Dispatches that a blocked cooperative-pool thread waits for; later dispatches may not overtake them.
  var beforeTasks = WeakDispatches()
  /// The dispatches of the places here, by place, until they leave.
  var owners: [ObjectIdentifier: Dispatch] = [:]

  /// Appends the dispatches of a list, and empties it.
  func append(_ dispatches: inout DispatchFIFO) {
    while let dispatch = dispatches.popFirst() {
      prioritized.append(dispatch, keepsPlace: keepsPlace(dispatch))
    }
  }

  /// Whether a dispatch may overtake none.
  ///
  /// Such a dispatch may hold the lane until others have ended, or needs a thread that waits for one of them.
  func keepsPlace(_ dispatch: Dispatch) -> Bool {
    guard dispatch.details != nil else { return false }
    let (before, gateHoldsBack) = dispatch.obstacles
    return gateHoldsBack || !before.isEmpty || !beforeTasks.present.isEmpty && dispatch.isOfTask
  }
}

/// Dispatches that have not ended, without references to those that are gone.
private struct WeakDispatches {
  private struct Reference {
    weak var dispatch: Dispatch?
  }

  private var references: [Reference] = []
  /// The number of references at which those of ended dispatches are removed, and all but one of each other.
  private var limit = 8

  /// The dispatches, oldest first; some may be there twice.
  var present: [Dispatch] {
    references.compactMap(\.dispatch).filter { !$0.hasEnded }
  }

  mutating func insert(_ dispatch: Dispatch) {
    if references.count >= limit {
      var seen: Set<ObjectIdentifier> = []
      references = references.filter { reference in
        reference.dispatch.map { !$0.hasEnded && seen.insert(ObjectIdentifier($0)).inserted }
          == true
      }
      limit = max(8, 2 * references.count)
    }
    references.append(Reference(dispatch: dispatch))
  }
}
