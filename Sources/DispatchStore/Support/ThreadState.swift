import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What the library knows of the thread it is called on; never kept across an `await`.
///
/// A pointer rather than an object: the thread has it to itself until it ends, so that nothing need be
/// counted.
@usableFromInline
struct ThreadState {
  private let fields: UnsafeMutablePointer<Fields>

  private struct Fields {
    /// The dispatch whose synchronous code runs here: a block, hook, observer or completion.
    var context: DispatchContext?
    /// Where the action is of the dispatch that runs straight here.
    var action: UnsafeRawPointer?
    var light = Light()
    /// The store in whose exclusive section this thread is; whoever entered it holds the store.
    unowned(unsafe) var exclusive: StoreStorage?
    /// The stores whose telling turn this thread holds, outermost first.
    var turns: [StoreStorage] = []
    /// Whose commits were told here, of other dispatches: what follows that follows here too.
    var toldOwners: [any CommitOwner] = []
    /// The same thread, where it is one of a simulated world; the world keeps it.
    unowned(unsafe) var simulated: (any SimulatedThread)?
    /// The pool whose slot this thread occupies.
    var pool: ConcurrentPool?
    /// The loop of this thread's last `.sync` dispatch.
    var spareLoop: SyncLoop?
    /// Operations, to be given out again.
    let spareOperations = Spares()
    /// What their blocks were given, to be given out again.
    let spareTokens = Spares()
    /// Dispatches to be used again.
    var spareDispatches = DispatchStack()
    /// What it knows of the dispatchers' registries.
    let routeCache = RouteCache()
    /// Whether it has resumed somebody who may need this very thread to go on.
    var hasResumedOthers = false
    /// Whether it looked out for work just now, and was told of some.
    var hasLookedOut = false
    /// Which shard of an inbox is next.
    var turn: UInt32 = 0
    /// The transaction identifiers that this thread may still give out.
    var identifiers: Range<UInt64> = 0..<0
  }

  var context: DispatchContext? {
    @inline(__always) get { fields.pointee.context }
    @inline(__always) nonmutating _modify { yield &fields.pointee.context }
  }

  var action: UnsafeRawPointer? {
    @inline(__always) get { fields.pointee.action }
    @inline(__always) nonmutating _modify { yield &fields.pointee.action }
  }

  /// The dispatch that goes through its stores here without a record; inside the context, where both are.
  struct Light {
    /// Its transaction; `UInt64.max` for none.
    var transaction = UInt64.max
    /// Nil where its stores only reduce: no code runs there that could ask for a record.
    var run: UnsafeMutablePointer<LightRun>?
  }

  var light: Light {
    @inline(__always) get { fields.pointee.light }
    @inline(__always) nonmutating _modify { yield &fields.pointee.light }
  }

  /// A context is about to be set, inside of which a dispatch without one is not.
  @inline(__always)
  func putLightAside() -> Light {
    defer { light = Light() }
    return light
  }

  var exclusive: StoreStorage? {
    @inline(__always) get { fields.pointee.exclusive }
    @inline(__always) nonmutating _modify { yield &fields.pointee.exclusive }
  }

  var turns: [StoreStorage] {
    @inline(__always) get { fields.pointee.turns }
    @inline(__always) nonmutating _modify { yield &fields.pointee.turns }
  }

  var toldOwners: [any CommitOwner] {
    @inline(__always) get { fields.pointee.toldOwners }
    @inline(__always) nonmutating _modify { yield &fields.pointee.toldOwners }
  }

  var simulated: (any SimulatedThread)? {
    @inline(__always) get { fields.pointee.simulated }
    @inline(__always) nonmutating set { fields.pointee.simulated = newValue }
  }

  var pool: ConcurrentPool? {
    @inline(__always) get { fields.pointee.pool }
    @inline(__always) nonmutating _modify { yield &fields.pointee.pool }
  }

  var spareLoop: SyncLoop? {
    @inline(__always) get { fields.pointee.spareLoop }
    @inline(__always) nonmutating _modify { yield &fields.pointee.spareLoop }
  }

  var spareDispatches: DispatchStack {
    @inline(__always) get { fields.pointee.spareDispatches }
    @inline(__always) nonmutating _modify { yield &fields.pointee.spareDispatches }
  }

  var hasResumedOthers: Bool {
    get { fields.pointee.hasResumedOthers }
    nonmutating set { fields.pointee.hasResumedOthers = newValue }
  }

  var hasLookedOut: Bool {
    get { fields.pointee.hasLookedOut }
    nonmutating set { fields.pointee.hasLookedOut = newValue }
  }

  var turn: UInt32 {
    @inline(__always) get { fields.pointee.turn }
    @inline(__always) nonmutating _modify { yield &fields.pointee.turn }
  }

  var identifiers: Range<UInt64> {
    @inline(__always) get { fields.pointee.identifiers }
    @inline(__always) nonmutating _modify { yield &fields.pointee.identifiers }
  }

  var spareOperations: Spares { fields.pointee.spareOperations }
  var spareTokens: Spares { fields.pointee.spareTokens }
  var routeCache: RouteCache { fields.pointee.routeCache }

  /// Whether nobody holds on to the last loop.
  var hasFreeLoop: Bool {
    fields.pointee.spareLoop != nil && isKnownUniquelyReferenced(&fields.pointee.spareLoop)
  }

  /// Goes on with what follows the telling, once no turn is held over it.
  func followToldCommits() {
    while !self.toldOwners.isEmpty {
      let owners = self.toldOwners
      self.toldOwners = []
      for owner in owners { owner.commitTold() }
    }
  }

  // MARK: Of this thread

  static var current: ThreadState {
    @inline(__always) get { current(by: key) }
  }

  /// The same, for code that is inlined elsewhere.
  @usableFromInline
  static func here(_ store: StoreStorage) -> ThreadState { current(by: store.threadKey) }

  /// The same, for a caller who has the key at hand.
  @inline(__always)
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

  /// The thread ends; what goes with it may run code that makes a new state, which ends likewise.
  private static func end(_ pointer: UnsafeMutableRawPointer) {
    let fields = pointer.assumingMemoryBound(to: Fields.self)
    fields.pointee.spareOperations.destroy()
    fields.pointee.spareTokens.destroy()
    fields.pointee.spareDispatches.removeAll()
    fields.pointee.routeCache.destroy()
    fields.deinitialize(count: 1)
    fields.deallocate()
  }

  /// The same where the thread has one already: to be asked where one can't be made.
  static var known: ThreadState? {
    pthread_getspecific(key).map {
      ThreadState(fields: $0.assumingMemoryBound(to: Fields.self))
    }
  }

  /// Forgets what this thread knows, as if it were a new one.
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
    precondition(error == 0, "pthread_key_create failed with error \(error).")
    return key
  }
}
