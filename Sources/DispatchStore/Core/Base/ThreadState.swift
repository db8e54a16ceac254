import Foundation
import Synchronization

/// The state of the thread on which the library is called; never kept across an `await`.
///
/// A pointer rather than an object, so that no references are counted: only its thread uses it, until the thread
/// ends.
@usableFromInline
struct ThreadState {
  /// The fields.
  ///
  /// If a member below reaches a field, use that: it keeps the field's rules, or many places need it.
  let fields: UnsafeMutablePointer<Fields>

  struct Fields {
    /// The innermost inline run on this thread's stack.
    var run: InlineRun.Address?
    /// The context around all inline runs that are linked from `run`.
    var context: DispatchContext?
    /// The store in whose exclusive section this thread is; code inside the section keeps the store alive.
    var exclusive: Unmanaged<StoreStorage>?
    /// The reducer that has reported inside the exclusive section that it changed nothing.
    var unchangedBy: ObjectIdentifier?
    /// Closures to call once the section has been left: they accept dispatches that were made inside.
    var afterSection: [(_ isUndone: Bool) -> Void] = []
    /// Whether more than unlocking is left to do at the section's end.
    var hasSectionNotes = false
    /// The atomic action whose reductions run on this thread.
    var atomic: AtomicStep.Address?
    /// The stores whose notifier this thread is, outermost first.
    ///
    /// The notifier's code keeps the stores alive: retaining a store that has weak references takes as long as
    /// locking it.
    var turns: [Unmanaged<StoreStorage>] = []
    /// The innermost run and context in which this thread calls observers.
    var notice = NoticePlace()
    /// The owners of deferred commits that this thread has delivered and has yet to resume.
    var deliveredOwners = FIFO<any CommitOwner>()
    /// The store runs whose ends wait for this thread's commits, innermost last; nil for one that no longer waits.
    var taskCommits: [StoreRun?] = []
    /// The turns in which code runs here, innermost last.
    var laneTurns: [any LaneTurn] = []
    /// The thread in its simulated world, which keeps it alive; nil outside a simulation.
    unowned(unsafe) var simulated: (any SimulatedThread)?
    /// The pool worker that takes jobs on this thread.
    var worker: PoolWorker?
    /// The operation whose block a user's queue runs here, and that queue if the thread is not its own.
    var own: (queue: OperationQueue?, operation: AnyObject)?
    /// Whether this thread runs a job of an `async` block outside the cooperative pool.
    var runsBlockJob = false
    /// Whether this thread is a helper that takes jobs of `async` blocks.
    var isJobHelper = false
    /// Operations to reuse.
    let spareOperations = Spares()
    /// Dispatch records to reuse.
    var spareDispatches = DispatchStack()
    /// A middleware session to reuse.
    var spareSession: Unmanaged<MiddlewareSession>?
    let routeCache = RouteCache()
    /// The probe that finds out whether reads of stores without a tracker are tracked.
    ///
    /// Unmanaged, since each read of a store would change its reference count; `takeReadProbe` takes it out.
    var readProbe: Unmanaged<ReadProbe>?
    /// Whether the read that the probe examines is tracked.
    var readIsTracked = false
    /// The notification of tracked code that is under way on this thread; zero for none.
    var trackedNotice: UInt64 = 0
    /// Whether this thread has resumed a thread or task that may need this thread's queue slot to continue.
    var hasResumedOthers = false
    /// Whether this thread's last spin wait found work.
    var foundWorkBySpinning = false
    /// Whether this thread runs ends of other dispatches before it dispatches.
    var runsSurplusEnds = false
    /// The next shard of an inbox to use.
    var turn: UInt32 = 0
    /// The next dispatch identifier of this thread's block, and the block's end.
    var identifier: UInt64 = 0
    var identifierEnd: UInt64 = 0
  }

  var context: DispatchContext? {
    get { fields.pointee.context }
    nonmutating _modify { yield &fields.pointee.context }
  }

  var run: InlineRun.Address? {
    get { fields.pointee.run }
    nonmutating _modify { yield &fields.pointee.run }
  }

  var exclusive: StoreStorage? {
    get { fields.pointee.exclusive?.takeUnretainedValue() }
    nonmutating set { fields.pointee.exclusive = newValue.map(Unmanaged.passUnretained) }
  }

  /// Whether the thread is in a store's exclusive section; reading this retains no store.
  var isInSection: Bool { fields.pointee.exclusive != nil }

  /// Whether code in the exclusive section has left work for the section's end; false outside of sections.
  var hasSectionNotes: Bool { fields.pointee.hasSectionNotes }

  /// The atomic action whose reductions run on this thread; nil for most.
  var atomic: AtomicStep.Address? {
    get { fields.pointee.atomic }
    nonmutating set { fields.pointee.atomic = newValue }
  }

  /// Enters the section of the next store of an atomic action, whose locks are all locked.
  func beginAtomicReduction(in store: Unmanaged<StoreStorage>) {
    fields.pointee.exclusive = store
    fields.pointee.unchangedBy = nil
    // So that the end of the reduction is reported, and unlocks nothing.
    fields.pointee.hasSectionNotes = true
  }

  /// Ends the section of an atomic action that was undone: dispatches made inside end as cancelled.
  func endUndoneSection() {
    if hasSectionNotes { takeSectionNotes(isUndone: true) }
  }

  /// Notes, inside an exclusive section, that a reducer has changed nothing.
  func noteUnchanged(by reducer: ObjectIdentifier) {
    fields.pointee.unchangedBy = reducer
    fields.pointee.hasSectionNotes = true
  }

  /// Whether the reducer that the library called in the current section, if it did, has reported no change.
  @usableFromInline
  func isUnchanged(by reducer: ObjectIdentifier?) -> Bool {
    hasSectionNotes && reducer != nil && fields.pointee.unchangedBy == reducer
  }

  /// Calls a closure once the current exclusive section has been left, before the observers of its commit.
  ///
  /// The closure learns whether the section was that of an atomic action that was undone.
  func atSectionEnd(_ body: @escaping (_ isUndone: Bool) -> Void) {
    fields.pointee.afterSection.append(body)
    fields.pointee.hasSectionNotes = true
  }

  /// Returns the end of the current exclusive section, and then whether it was undone; nil outside of sections.
  func sectionEnd() -> Eventual<Bool>? {
    guard isInSection else { return nil }
    let end = Eventual<Bool>()
    atSectionEnd { end.set($0) }
    return end
  }

  /// Calls the closures for the section's end: the section has been left, and this thread may run other code.
  @inline(__always)
  func endSection() {
    if hasSectionNotes { takeSectionNotes(isUndone: false) }
  }

  @inline(never)
  private func takeSectionNotes(isUndone: Bool) {
    fields.pointee.hasSectionNotes = false
    fields.pointee.unchangedBy = nil
    let bodies = fields.pointee.afterSection
    fields.pointee.afterSection = []
    for body in bodies { body(isUndone) }
  }

  var turns: [Unmanaged<StoreStorage>] {
    get { fields.pointee.turns }
    nonmutating _modify { yield &fields.pointee.turns }
  }

  /// Notes that observers are about to be called here; returns the former place, for `endNotice`.
  func beginNotice() -> NoticePlace {
    defer { fields.pointee.notice = NoticePlace(isSet: true, run: run, context: contextAddress) }
    return fields.pointee.notice
  }

  func endNotice(_ former: NoticePlace) {
    fields.pointee.notice = former
  }

  /// Whether a run's code is that of the observers that this thread notifies; pass nil for code outside of runs.
  func isNotice(in run: InlineRun.Address?) -> Bool {
    let notice = fields.pointee.notice
    return notice.isSet && notice.run == run && notice.context == contextAddress
  }

  private var contextAddress: UnsafeRawPointer? {
    fields.pointee.context.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
  }

  /// Runs code in a context, or outside of all of them, with no inline run around it.
  func within<Value, Failure: Error>(
    _ context: DispatchContext?, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let (outer, run) = (self.context, self.run)
    (self.context, self.run) = (context, nil)
    defer { (self.context, self.run) = (outer, run) }
    return try body()
  }

  /// Whether code of a dispatch runs here; tasks that run outside their executors do not count.
  var isInside: Bool { fields.pointee.run != nil || fields.pointee.context != nil }

  /// Runs code in a turn, and leaves that at the end, or before the code blocks this thread.
  func hold(_ turn: any LaneTurn, _ body: () -> Void) {
    fields.pointee.laneTurns.append(turn)
    body()
    fields.pointee.laneTurns.removeLast()
    turn.leave()
  }

  /// Leaves all turns before this thread blocks, perhaps until those behind them have ended.
  func leaveLaneTurns() {
    for turn in fields.pointee.laneTurns { turn.leave() }
  }

  var simulated: (any SimulatedThread)? {
    get { fields.pointee.simulated }
    nonmutating set { fields.pointee.simulated = newValue }
  }

  var worker: PoolWorker? {
    get { fields.pointee.worker }
    nonmutating _modify { yield &fields.pointee.worker }
  }

  /// The action of the operation whose block a user's queue runs here, if the operation belongs to this store.
  @usableFromInline
  func ownAction<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard run == nil, context == nil,
      let operation = fields.pointee.own?.operation as? ActionOperation<Model, Action>,
      operation.store === store, operation.isExecuting
    else { return nil }
    return operation.action
  }

  /// Whether this is a thread of the cooperative pool, which has as many threads as there are processors.
  var isTaskThread: Bool {
    !fields.pointee.runsBlockJob && withUnsafeCurrentTask { $0 != nil } && !MainQueue.isCurrent
  }

  /// Whether this thread runs no tasks or dispatches for the library or the system, except those that its code waits
  /// for.
  var isOfProgram: Bool { worker == nil && !fields.pointee.runsBlockJob && !isTaskThread }

  var spareDispatches: DispatchStack {
    get { fields.pointee.spareDispatches }
    nonmutating _modify { yield &fields.pointee.spareDispatches }
  }

  func takeSpareSession() -> Unmanaged<MiddlewareSession>? {
    fields.pointee.spareSession.take()
  }

  /// Keeps a session for reuse, and takes over the only reference to it.
  func keepSpare(_ session: Unmanaged<MiddlewareSession>) {
    if let former = fields.pointee.spareSession { former.release() }
    fields.pointee.spareSession = session
  }

  /// Returns the next dispatch identifier; `makeBlock` returns a new block when the last one is used up.
  func nextIdentifier(_ makeBlock: () -> Range<UInt64>) -> UInt64 {
    if fields.pointee.identifier == fields.pointee.identifierEnd {
      let block = makeBlock()
      (fields.pointee.identifier, fields.pointee.identifierEnd) = (
        block.lowerBound, block.upperBound
      )
    }
    defer { fields.pointee.identifier &+= 1 }
    return fields.pointee.identifier
  }

  var spareOperations: Spares { fields.pointee.spareOperations }
  var routeCache: RouteCache { fields.pointee.routeCache }

  func takeReadProbe() -> ReadProbe? {
    fields.pointee.readProbe.take()?.takeRetainedValue()
  }

  /// Resumes the owners of delivered commits, once this thread has no delivery turn.
  ///
  /// Resumes one after the other. If a completion blocks, the owners behind it are still in the list then.
  func resumeDeliveredOwners() {
    while let owner = fields.pointee.deliveredOwners.popFirst() { owner.commitDelivered() }
  }

  /// Hands off delivered commits before this thread blocks, perhaps until they have ended.
  func leaveDeliveredOwners() {
    for index in fields.pointee.taskCommits.indices {
      fields.pointee.taskCommits[index].take()?.endTaskCommit()
    }
    while let owner = fields.pointee.deliveredOwners.popFirst() { self.resumeElsewhere(owner) }
  }

  /// Resumes the owner of a delivered commit on a thread on which the code that follows may block.
  func resumeElsewhere(_ owner: any CommitOwner) {
    // Any other owner has a scheduler, which only enqueues the next step.
    guard owner.waiting?.isSynchronous == true else { return owner.commitDelivered() }
    HelperThreads.run(in: simulated?.world) { owner.commitDelivered() }
  }

  // MARK: The current thread

  static var current: ThreadState {
    get { current(by: key) }
  }

  /// Returns the current thread's state, for code that is inlined into other modules.
  @usableFromInline
  static func here(_ store: StoreStorage) -> ThreadState { current(by: store.threadKey) }

  /// Returns the current thread's state, for a caller that has the key.
  static func current(by key: pthread_key_t) -> ThreadState {
    if let pointer = pthread_getspecific(key) {
      return ThreadState(fields: pointer.assumingMemoryBound(to: Fields.self))
    }
    return begin(key)
  }

  @inline(never)
  private static func begin(_ key: pthread_key_t) -> ThreadState {
    let fields = UnsafeMutablePointer<Fields>.allocate(capacity: 1)
    fields.initialize(to: Fields())
    pthread_setspecific(key, fields)
    return ThreadState(fields: fields)
  }

  /// Destroys the state at the thread's end; releasing its objects may create a new state, which is destroyed, too.
  private static func end(_ pointer: UnsafeMutableRawPointer) {
    let fields = pointer.assumingMemoryBound(to: Fields.self)
    fields.pointee.spareOperations.destroy()
    fields.pointee.spareDispatches.removeAll()
    fields.pointee.spareSession?.release()
    fields.pointee.routeCache.destroy()
    fields.pointee.readProbe?.release()
    fields.deinitialize(count: 1)
    fields.deallocate()
  }

  /// The current thread's state if it was created, for callers that must not create it.
  static var known: ThreadState? {
    pthread_getspecific(key).map {
      ThreadState(fields: $0.assumingMemoryBound(to: Fields.self))
    }
  }

  /// Destroys this thread's state, as if the thread were a new one.
  static func renew() {
    guard let pointer = pthread_getspecific(key) else { return }
    pthread_setspecific(key, nil)
    end(pointer)
  }

  #if DEBUG
    static var key: pthread_key_t {
      let known = staticAtomic(&keyStorage).pointee.load(ordering: .acquiring)
      return known == 0 ? shareKey(makeKey()) : pthread_key_t(known - 1)
    }

    /// The key plus one; zero before it is made.
    nonisolated(unsafe) private static var keyStorage: UInt = 0

    private static func shareKey(_ made: pthread_key_t) -> pthread_key_t {
      let (isFirst, known) = staticAtomic(&keyStorage).pointee.compareExchange(
        expected: 0, desired: UInt(made) + 1, ordering: .acquiringAndReleasing)
      if isFirst { return made }
      // Another thread was first.
      pthread_key_delete(made)
      return pthread_key_t(known - 1)
    }
  #else
    static let key = makeKey()
  #endif

  private static func makeKey() -> pthread_key_t {
    var key = pthread_key_t()
    let error = pthread_key_create(&key) { pointer in
      #if canImport(Darwin)
        ThreadState.end(pointer)
      #else
        if let pointer { ThreadState.end(pointer) }
      #endif
    }
    if error != 0 { stopProgram("pthread_key_create failed with error \(error).") }
    return key
  }
}

/// The innermost run and context of a thread.
struct NoticePlace {
  var isSet = false
  var run: InlineRun.Address?
  var context: UnsafeRawPointer?
}

/// Access to the spare objects, for code that is inlined into other modules.
extension ThreadState {
  @usableFromInline
  static func takeSpareOperation(_ type: ObjectIdentifier, for store: StoreStorage) -> AnyObject? {
    current(by: store.threadKey).spareOperations.take(type)
  }

  @usableFromInline
  func keepSpareOperation(_ operation: consuming AnyObject, of type: ObjectIdentifier) {
    self.spareOperations.put(operation, of: type)
  }
}
