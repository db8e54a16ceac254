#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What the library knows of the thread it is called on; never kept across an `await`.
final class ThreadState {
  /// The dispatch whose synchronous code runs here: a block, hook, observer or completion.
  var context: DispatchContext?
  /// The store in whose exclusive section this thread is; whoever entered it holds the store.
  unowned(unsafe) var exclusive: StoreBase?
  /// The stores whose telling turn this thread holds, outermost first.
  var turns: [any TellingTurn] = []
  /// Whose commits were told here, of other dispatches: what follows that follows here too.
  var toldOwners: [any CommitOwner] = []
  /// The pool whose slot this thread occupies.
  var pool: ConcurrentPool?
  /// The loop of this thread's last `.sync` dispatch.
  var spareLoop: SyncLoop?
  /// Operations and their tokens, to be given out again.
  private let spareOperations = Spares()
  private let spareTokens = Spares()
  /// Dispatches to be used again.
  var spareDispatches = DispatchStack()
  /// What it knows of the dispatchers' registries.
  let respondersCache = RespondersCache()
  /// The transaction identifiers that this thread may still give out.
  var identifiers: Range<UInt64> = 0..<0

  deinit {
    spareOperations.destroy()
    spareTokens.destroy()
    spareDispatches.removeAll()
    respondersCache.threadEnds()
  }

  @inline(__always)
  func takeSpare(_ type: ObjectIdentifier) -> AnyObject? { spareOperations.take(type) }

  @inline(__always)
  func keepSpare(_ operation: AnyObject, of type: ObjectIdentifier) {
    spareOperations.put(operation, of: type)
  }

  @inline(__always)
  func takeSpareToken(_ type: ObjectIdentifier) -> AnyObject? { spareTokens.take(type) }

  @inline(__always)
  func keepSpareToken(_ token: AnyObject, of type: ObjectIdentifier) {
    spareTokens.put(token, of: type)
  }

  /// Goes on with what follows the telling, once no turn is held over it.
  func followToldCommits() {
    while !toldOwners.isEmpty {
      let owners = toldOwners
      toldOwners = []
      for owner in owners { owner.commitTold() }
    }
  }

  static var current: ThreadState {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<ThreadState>.fromOpaque(pointer).takeUnretainedValue()
    }
    let state = ThreadState()
    pthread_setspecific(key, Unmanaged.passRetained(state).toOpaque())
    return state
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = pthread_key_create(&key) { pointer in
      #if canImport(Darwin)
        Unmanaged<ThreadState>.fromOpaque(pointer).release()
      #else
        if let pointer { Unmanaged<ThreadState>.fromOpaque(pointer).release() }
      #endif
    }
    precondition(error == 0, "pthread_key_create failed with error \(error).")
    return key
  }()
}
