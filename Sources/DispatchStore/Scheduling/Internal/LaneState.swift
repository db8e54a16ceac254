import Synchronization

/// What dispatching threads see of a lane: the dispatches they pushed, newest first, and its activity.
///
/// Both are exchanged as one word: "the inbox is empty" and "the drainer has left" are one change. A push
/// comes before it, and the drainer finds it, or after it, and its thread requests a drainer.
struct LaneWord: Equatable {
  enum Activity: UInt {
    /// No thread drains the lane, and it is empty.
    case idle
    /// A dispatch holds the lane and waits for something elsewhere.
    case held
    /// A drainer is there, or was requested.
    case drained
    /// The lane has left the table of lanes, and accepts no dispatch.
    case retired
    /// A task runs its dispatch on its thread, and has made no record: it mostly is about to end. Becomes held
    /// with the record.
    case acquired
  }

  /// An object's address, whose low bits are free.
  let bits: UInt

  init(bits: UInt) {
    self.bits = bits
  }

  init(_ top: Unmanaged<Dispatch>?, _ activity: Activity) {
    bits = (top.map { UInt(bitPattern: $0.toOpaque()) } ?? 0) | activity.rawValue
  }

  var activity: Activity { Activity(rawValue: bits & 7)! }

  /// The newest dispatch; it links to the one before it.
  var top: Unmanaged<Dispatch>? {
    UnsafeRawPointer(bitPattern: bits & ~7).map(Unmanaged.fromOpaque)
  }

  /// With a dispatch on top, and whether a drainer must be requested; nil where the lane is retired.
  ///
  /// Not while the lane is held: suspension would hold the drainer back, and the holder's steps with it.
  func pushing(_ dispatch: Unmanaged<Dispatch>) -> (word: LaneWord, needsDrainer: Bool)? {
    switch activity {
    case .retired: isPlanted(.pushToRetired) ? (LaneWord(dispatch, .drained), true) : nil
    case .idle: (LaneWord(dispatch, .drained), true)
    case .held, .acquired: (LaneWord(dispatch, activity), false)
    case .drained: (LaneWord(dispatch, .drained), false)
    }
  }

  /// With a task that runs its dispatch; nil where that has to wait for its turn.
  var acquiredByTask: LaneWord? {
    if isPlanted(.takenTwice), activity == .acquired { return self }
    return self == LaneWord(nil, .idle) ? LaneWord(nil, .acquired) : nil
  }

  /// With the task's record.
  var heldByTask: LaneWord? {
    activity == .acquired ? LaneWord(top, .held) : nil
  }

  /// Without that task; nil where a dispatch was pushed meanwhile.
  ///
  /// - Parameter activity: What the lane becomes: idle or retired.
  func releasedByTask(as activity: Activity) -> LaneWord? {
    let isEmpty = top == nil || isPlanted(.lostAtRelease)
    return isEmpty && self.activity == .acquired ? LaneWord(top, activity) : nil
  }

  /// With a drainer, for the holder's next step; nil where the lane has one, who finds the step.
  var requestingDrainer: LaneWord? {
    activity == .held || activity == .acquired ? LaneWord(top, .drained) : nil
  }

  /// Without the drainer; nil where a dispatch was pushed that can start.
  ///
  /// - Parameter activity: What the lane becomes: held, idle or retired.
  func leaving(as activity: Activity) -> LaneWord? {
    activity == .held || top == nil ? LaneWord(top, activity) : nil
  }

  /// Without the pushed dispatches, which the drainer takes in.
  var takenIn: LaneWord { LaneWord(nil, activity) }

  /// The same for another thread; nil where no drainer would look for them after that.
  var takenInByOther: LaneWord? {
    switch activity {
    case .held, .drained: takenIn
    case .idle, .acquired, .retired: nil
    }
  }
}

/// A lane's word, in memory that threads share.
struct AtomicLaneWord: ~Copyable {
  private let bits = Atomic<UInt>(LaneWord(nil, .idle).bits)

  var now: LaneWord { LaneWord(bits: bits.load(ordering: .acquiring)) }

  /// Makes it as it was at first, where no other thread has it.
  func reset() {
    bits.store(LaneWord(nil, .idle).bits, ordering: .relaxed)
  }

  /// Changes the word to what `next` makes of it; the word before, or nil where `next` returns nil.
  func change(_ next: (LaneWord) -> LaneWord?) -> LaneWord? {
    var present = bits.load(ordering: .acquiring)
    while let desired = next(LaneWord(bits: present)) {
      let (isDone, original) = bits.weakCompareExchange(
        expected: present, desired: desired.bits, ordering: .acquiringAndReleasing)
      if isDone { return LaneWord(bits: present) }
      present = original
    }
    return nil
  }
}

/// What a lane's drainer sees of it: its inbox, its holder and the holder's steps.
struct LaneState {
  private var inbox = DispatchFIFO()
  /// In place of that, while dispatches of other priorities than the normal one wait, or are about to be pushed.
  private var prioritized: PriorityInbox?
  /// The dispatch that was started and has not ended: it may run, wait for others, or be parked.
  ///
  /// Not a reference: the drainer's own has to be the only one where the dispatch is used again.
  private var holder: Unmanaged<Dispatch>?
  /// The same while it is parked: until then its drainer has the reference.
  private var parkedHolder: Dispatch?
  /// The holder is parked and can run now.
  private var isUnparked = false
  /// The holder's next steps.
  private var steps = FIFO<@Sendable () -> Void>()
  /// The dispatches that waited for others when they were pushed, or had gates.
  private var heldBack = WeakDispatches()
  /// Those for which they waited.
  private var awaited = WeakDispatches()
  /// Of those that are held back, the ones with gates.
  private var gated = WeakDispatches()
  /// Those behind which a thread waits that tasks need: none that comes later overtakes them.
  private var beforeTasks = WeakDispatches()
  private var skipped = SkippedDispatches()

  /// Takes in what was pushed, newest first.
  mutating func takeIn(_ top: Unmanaged<Dispatch>?) {
    if prioritized != nil { return takeInByPriority(top) }
    inbox.append(newestFirst: isPlanted(.laneOrder) ? DispatchFIFO.reversed(top) : top)
  }

  private var isEmpty: Bool { inbox.isEmpty && prioritized?.isEmpty != false }

  /// One in the inbox has ended; whether those that have are to be removed now.
  mutating func noteSkipped() -> Bool { skipped.note() }

  /// Those taken in; linear.
  var waitingCount: Int { prioritized?.inPlaceOrder.count ?? inbox.all.count }

  mutating func removeEnded() -> [Dispatch] {
    let (removed, rest) = prioritized?.removeEnded() ?? inbox.removeEnded()
    skipped.removed(leaving: rest)
    return removed
  }

  mutating func resume(_ step: @escaping @Sendable () -> Void) {
    steps.append(step)
  }

  /// Whether the dispatch holds the lane, so that a drainer has to start it again.
  mutating func unpark(_ dispatch: Dispatch) -> Bool {
    guard isHolder(dispatch) else { return false }
    isUnparked = true
    return true
  }

  func isHolder(_ dispatch: Dispatch) -> Bool {
    holder?.toOpaque() == Unmanaged.passUnretained(dispatch).toOpaque()
  }

  /// The holder waits, unless another thread has released it meanwhile.
  mutating func park(_ dispatch: Dispatch) {
    if isHolder(dispatch) { parkedHolder = dispatch }
  }

  /// Returns the lane's reference, for the caller to drop outside the lock.
  mutating func release(_ dispatch: Dispatch) -> Dispatch? {
    guard isHolder(dispatch) else { return nil }
    holder = nil
    isUnparked = false
    return parkedHolder.take()
  }

  /// A task that has acquired the lane has made a record for its dispatch.
  mutating func hold(_ dispatch: Dispatch) {
    holder = .passUnretained(dispatch)
  }

  /// Whether what is to be started next is a task, which needs no thread of the queue.
  var startsTask: Bool {
    if let first = holder ?? inbox.first { return first._withUnsafeGuaranteedRef(\.isOfTask) }
    return prioritized?.first?.isOfTask == true
  }

  /// The holder has ended in the step that started it.
  mutating func holderEnded() {
    holder = nil
  }

  /// What the drainer does next.
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

  /// The dispatch to start: the holder that was unparked, or the one of the inbox that is next.
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

  /// Whether dispatches go by their priority, so that what was pushed is to be taken in before each start.
  var hasPriorities: Bool { prioritized != nil }

  /// One of another priority than the normal one is about to be pushed.
  mutating func expectPriority() {
    var made = prioritized ?? PriorityInbox()
    while let dispatch = inbox.popFirst() {
      made.append(dispatch, keepsPlace: keepsPlace(dispatch))
    }
    made.expect()
    prioritized = made
  }

  @inline(never)
  private mutating func takeInByPriority(_ top: Unmanaged<Dispatch>?) {
    var pushed = DispatchFIFO()
    pushed.append(newestFirst: top)
    while let dispatch = pushed.popFirst() {
      let keepsPlace = keepsPlace(dispatch)
      prioritized?.append(dispatch, keepsPlace: keepsPlace)
    }
  }

  @inline(never)
  private mutating func takeStartByPriority() -> Dispatch {
    let dispatch = prioritized!.popFirst()!
    if prioritized!.isDone { prioritized = nil }
    return dispatch
  }

  /// Whether it overtakes none: it may hold the lane until others have ended, or needs a thread that waits for one.
  private func keepsPlace(_ dispatch: Dispatch) -> Bool {
    guard dispatch.details != nil else { return false }
    let (before, isGated) = dispatch.obstacles
    return isGated || !before.isEmpty || !beforeTasks.present.isEmpty && dispatch.isOfTask
  }

  // MARK: For the wait graph

  var hasInbox: Bool { !isEmpty }

  mutating func noteHeldBack(_ dispatch: Dispatch, by before: [Dispatch], isGated: Bool) {
    heldBack.insert(dispatch)
    if isGated { gated.insert(dispatch) }
    for dispatch in before { awaited.insert(dispatch) }
  }

  /// Nothing precedes the holder.
  func precedence(of dispatch: Dispatch) -> LanePrecedence {
    if isHolder(dispatch) { return LanePrecedence() }
    return LanePrecedence(
      holder: holder?.takeUnretainedValue(), awaited: awaited.present,
      gated: gated.present.filter(\.isGated))
  }

  /// Those held back in the inbox that came before a dispatch; linear.
  ///
  /// Where dispatches have priorities, it may overtake some of these, but none that comes later.
  ///
  /// - Parameter top: Those not yet taken in, newest first.
  func heldBack(before dispatch: Dispatch, top: Unmanaged<Dispatch>?) -> [Dispatch] {
    let present = heldBack.present
    if present.isEmpty || isHolder(dispatch) { return [] }
    let before = Set(queued(top: top).prefix { $0 !== dispatch }.map(ObjectIdentifier.init))
    return present.filter { before.contains(ObjectIdentifier($0)) }
  }

  /// Whether tasks are in the inbox before a dispatch, or may overtake it; linear.
  ///
  /// Where not, none that comes later overtakes it.
  mutating func hasTask(before dispatch: Dispatch, top: Unmanaged<Dispatch>?) -> Bool {
    if isHolder(dispatch) { return false }
    let queued = queued(top: top)
    let hasTask = (hasPriorities ? queued[...] : queued.prefix { $0 !== dispatch })
      .contains(where: \.isOfTask)
    if !hasTask { beforeTasks.insert(dispatch) }
    return hasTask
  }

  /// The holder and the inbox; linear.
  func order(top: Unmanaged<Dispatch>?) -> LaneOrder {
    var waiting = queued(top: top)
    if var prioritized {
      for dispatch in DispatchFIFO.linked(from: top).reversed() {
        prioritized.append(dispatch, keepsPlace: keepsPlace(dispatch))
      }
      waiting = prioritized.inOrder
    }
    return LaneOrder(holder: holder?.takeUnretainedValue(), waiting: waiting)
  }

  /// The inbox, in the order in which dispatches came.
  private func queued(top: Unmanaged<Dispatch>?) -> [Dispatch] {
    (prioritized?.inPlaceOrder ?? inbox.all) + DispatchFIFO.linked(from: top).reversed()
  }
}

/// Dispatches that have not ended, without references to those that are gone.
private struct WeakDispatches {
  private struct Reference {
    weak var dispatch: Dispatch?
  }

  private var references: [ObjectIdentifier: Reference] = [:]
  /// How many there may be before those that have ended are removed.
  private var limit = 8

  var present: [Dispatch] {
    references.values.compactMap(\.dispatch).filter { !$0.hasEnded }
  }

  mutating func insert(_ dispatch: Dispatch) {
    if references.count >= limit {
      references = references.filter { $0.value.dispatch?.hasEnded == false }
      limit = max(8, 2 * references.count)
    }
    references[ObjectIdentifier(dispatch)] = Reference(dispatch: dispatch)
  }
}
