/// Takes one action through its stores on this thread, store after store, as long as each finishes at once.
///
/// A `Round` has all else: an operation that goes on when its block has returned, a store that is gone, fails, is vetoed
/// or gets another action, atomic actions and cancellations.
///
/// A value on the stack, and the context of all code that runs there: hooks, reducers, observers and the completion.
/// It serves every mode. A queued dispatch has a record; `.sync` begins without one, since no other thread can know
/// the dispatch. The record is made later if code needs it: for an operation, the owner of an observed commit, or a
/// wait that blocks the run. Only the thread that runs it has access, by the address in its `ThreadState`.
struct InlineRun: ~Copyable {
  let dispatchID: DispatchID
  /// The stores.
  ///
  /// The run, or its record if there is one, counts as outstanding in the route and has to end it.
  var route: Unmanaged<Route>
  /// The address of the action that the current store gets.
  var action: UnsafeRawPointer
  let callSite: CallSite
  /// The dispatcher of a run that begins without a record.
  let dispatcher: Unmanaged<Dispatcher>?
  /// The scheduler that a task has acquired for a run that begins without a record.
  let place: Unmanaged<Scheduler>?
  /// The task that acquired the place, once there is a record.
  private(set) var task: TaskScheduler?
  /// Whether a round continues in that task.
  var continuesInTask = false
  /// The run around this one on this thread, with no other context between them.
  let outer: Address?
  /// The record.
  ///
  /// Unmanaged, so that the end can see whether a handle refers to it, too.
  ///
  /// A queued record is its starter's; one that was made here is released by `endHere`.
  var record: Unmanaged<Dispatch>?
  /// The completion of a run that began without a record; a queued record has its own.
  var completion: Completion?
  /// A retained reference to the session, until all stores have ended or a round takes over.
  var session: Unmanaged<MiddlewareSession>?
  /// The step of the current store, until its end is noted.
  var begun: InlineStep?
  /// Whether stores have hooks or a watcher.
  var followsStores = false
  /// The store that runs; `noStore` in hooks and in the completion.
  var index = InlineRun.noStore

  typealias Address = UnsafeMutablePointer<InlineRun>
  static let noStore = -1

  /// Creates a run for `.sync`, or for a task that has acquired a place.
  init(
    _ action: UnsafeRawPointer, to route: Unmanaged<Route>, of dispatcher: Unmanaged<Dispatcher>?,
    at place: Scheduler? = nil, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState
  ) {
    dispatchID = .make(on: thread)
    self.route = route
    self.action = action
    self.callSite = callSite
    self.dispatcher = dispatcher
    self.place = place.map(Unmanaged.passUnretained)
    if let completion { self.completion = completion }
    outer = thread.run
  }

  /// Creates a run for a dispatch that its scheduler starts, or that is prepared for it.
  init(of record: Dispatch, _ action: UnsafeRawPointer, on thread: ThreadState) {
    dispatchID = record.id
    route = record.route.unsafelyUnwrapped
    self.action = action
    callSite = record.callSite
    (dispatcher, place) = (nil, nil)
    session = record.session.take().map(Unmanaged.passRetained)
    followsStores = session?._withUnsafeGuaranteedRef(\.followsStores) == true
    self.record = .passUnretained(record)
    outer = thread.run
  }

  // MARK: Context

  /// The innermost context with a record, from a run outwards.
  ///
  /// A run without a record blocks nothing. A task's run that has acquired a place is the exception, and gets a
  /// record here.
  static func recorded(_ innermost: Address?, on thread: ThreadState) -> DispatchContext? {
    var run = innermost
    while let present = run {
      if present.pointee.place != nil { return present.pointee.makeContext(on: thread) }
      if let record = present.pointee.record { return record.takeUnretainedValue() }
      run = present.pointee.outer
    }
    return thread.context
  }

  /// Whether this run or one outside it belongs to a dispatcher that has not refused it.
  static func isInside(of dispatcher: UInt64, _ innermost: Address?) -> Bool {
    guard let run = innermost else { return false }
    let belongs = run.pointee.route._withUnsafeGuaranteedRef {
      $0.dispatcher == dispatcher && $0.refusal == nil
    }
    return belongs || isInside(of: dispatcher, run.pointee.outer)
  }

  /// Returns the run's record, and makes it if there is none.
  mutating func makeRecord(on thread: ThreadState) -> Dispatch {
    if let record { return record.takeUnretainedValue() }
    let made = thread.spareDispatches.pop() ?? Dispatch()
    let parent = DispatchContext.dispatchID(of: outer, on: thread)
    made.setUp(dispatchID, parent: parent, to: route, nil, callSite)
    made.beginHere(inside: parent == nil ? nil : DispatchContext.enclosing(outer, on: thread))
    record = .passRetained(made)
    if let place { made.enter(place.takeUnretainedValue()) }
    dispatcher?._withUnsafeGuaranteedRef { $0.note(made, .sync, on: thread) }
    return made
  }

  /// Makes the record before the run waits or continues in a round.
  ///
  /// A task's record holds its place from then on.
  ///
  /// Dispatches that come to the place later find the record there. Earlier ones need not, because the run waited for
  /// nothing.
  mutating func makeContext(on thread: ThreadState) -> Dispatch {
    let record = makeRecord(on: thread)
    holdPlace(for: record)
    return record
  }

  mutating func holdPlace(for record: Dispatch) {
    guard task == nil, let place = place?.takeUnretainedValue() else { return }
    let task = TaskScheduler(
      at: place, of: dispatcher.unsafelyUnwrapped.takeUnretainedValue())
    self.task = task
    record.enter(task)
    place.hold(record)
  }

  /// Captures the task-local values that the dispatcher carries, before another thread may run code of the dispatch.
  ///
  /// Not when the record is made: code of the program that needs one may have bound other values. A queued dispatch
  /// has captured them at the call.
  func captureTaskLocals(for record: Dispatch) {
    dispatcher?._withUnsafeGuaranteedRef {
      if $0.carriesTaskLocals, record.carried == nil { record.carried = $0.captureTaskLocals() }
    }
  }

  /// Captures the values before a store's own code, which may bind others around its changes.
  mutating func captureTaskLocals(on thread: ThreadState) {
    guard dispatcher?._withUnsafeGuaranteedRef(\.carriesTaskLocals) == true else { return }
    captureTaskLocals(for: makeRecord(on: thread))
  }

  /// Whether this run belongs to the dispatch that owns a commit.
  func isOf(_ owner: any CommitOwner) -> Bool {
    record?.toOpaque() == Unmanaged.passUnretained(owner as AnyObject).toOpaque()
  }

  /// The dispatcher, while a store runs that does more than reduce.
  var runningDispatcher: Dispatcher? {
    dispatcher?.takeUnretainedValue() ?? record?.takeUnretainedValue().runningDispatcher
  }

  /// Whether a store runs; false in hooks and in the completion.
  var isInStore: Bool { index != Self.noStore }

  /// The dispatch that owns the commits of this run, while a store runs.
  mutating func owner(on thread: ThreadState) -> (any CommitOwner)? {
    if record == nil, isPlanted(.noRecord) { return thread.context?.owner }
    return makeRecord(on: thread)
  }

  /// The action, if this store runs.
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard isInStore, route._withUnsafeGuaranteedRef({ $0.entries[index].store === store }) else {
      return nil
    }
    return route._withUnsafeGuaranteedRef {
      $0.entries[index].action(at: action, as: Action.self)
    }
  }

  /// The results of the stores that the current store has waited for; empty in code of any other store.
  func prerequisiteResults(of store: any StoreType) -> [StoreResult] {
    guard isInStore else { return [] }
    return route._withUnsafeGuaranteedRef { route in
      guard route.entries[index].store === store else { return [] }
      return route.prerequisiteResults(at: index)
    }
  }

  /// The identifier of the store that runs; nil in hooks and in the completion.
  var storeIdentifier: String? {
    index == Self.noStore ? nil : route._withUnsafeGuaranteedRef { $0.identifiers[index] }
  }

  /// Whether dispatches of the current store are not cancelled with this dispatch.
  var runsRegardless: Bool { route._withUnsafeGuaranteedRef { $0.runsRegardless[index] } }

  /// The record, if others can cancel the dispatch; nil if only its outer context can be cancelled.
  mutating func recordToCancel(on thread: ThreadState) -> Dispatch? {
    if place != nil, thread.exclusive == nil { return makeContext(on: thread) }
    guard let record = record?.takeUnretainedValue() else { return nil }
    let isLinked = isScheduled || !record.mayLink
    // An action of a `.sync` list is cancelled with the list.
    let isDecisive = isLinked || record.details?.isCancellable == true || record.isCancelled
    return isDecisive ? record : nil
  }

  /// Returns the record, linked to the dispatch whose block runs around this run.
  ///
  /// Dispatches made here then descend from that one, too.
  mutating func linkedRecord(on thread: ThreadState) -> Dispatch {
    let record = makeContext(on: thread)
    if isScheduled {
      record.linkToCaller()
    } else {
      record.link(to: DispatchContext.linkedBlock(from: outer, on: thread))
    }
    return record
  }
}
