/// The reductions of one atomic action, in the exclusive sections of all of its stores.
///
/// A value on the stack of the thread that runs them, which finds it by its `ThreadState`.
struct AtomicStep: ~Copyable {
  /// A store that takes part.
  struct Member {
    let calls: ReducerCalls
    /// The store, which the route does not keep alive if it is owned weakly.
    let store: AnyObject
    /// Whether its reduction was a commit: it did not declare that it changed nothing.
    var isCommit = false

    var storage: StoreStorage { calls.storage }
  }

  typealias Address = UnsafeMutablePointer<AtomicStep>

  /// The stores in `waitFor` order.
  private(set) var members: [Member]
  /// The store whose turn it is; those before it have reduced.
  private var index = 0
  /// Whether its reduction may begin: once, and no other change in its place.
  private var mayReduce = true
  /// The number of reads of earlier stores that the reduction is in.
  private var readDepth = 0
  /// The replies by store identifier; nil if the commit has no row that needs them.
  private(set) var replies: [String: any Sendable]?

  init(_ members: [Member], keepingReplies: Bool) {
    self.members = members
    replies = keepingReplies ? [:] : nil
  }

  mutating func begin(_ index: Int) {
    (self.index, mayReduce) = (index, true)
  }

  /// Ends a read, or the reduction.
  mutating func endSection(isCommit: Bool) {
    if readDepth > 0 {
      readDepth -= 1
    } else {
      members[index].isCommit = isCommit
    }
  }

  mutating func note(_ reply: any Sendable, of storeIdentifier: String) {
    replies?[storeIdentifier] = reply
  }

  // MARK: Calls from inside the sections

  /// Begins the reduction of a store whose lock the thread has locked; stops the program at any other change.
  static func beginReduction(of storage: StoreStorage, on thread: ThreadState) -> Bool {
    if let step = thread.atomic, step.pointee.mayReduce, thread.exclusive === storage {
      step.pointee.mayReduce = false
      return true
    }
    ExclusiveSection.check(storage, "changed", on: thread)
    return false
  }

  /// Begins a read in place of a store that has reduced before; stops the program at any other read.
  static func beginRead(of storage: StoreStorage, on thread: ThreadState) {
    checkRead(of: storage, on: thread)
    thread.atomic?.pointee.readDepth += 1
  }

  static func checkRead(of storage: StoreStorage, on thread: ThreadState) {
    if hasReduced(storage, on: thread) { return }
    ExclusiveSection.check(storage, "read", on: thread)
  }

  /// Whether a store has reduced before the one that reduces on this thread, in the same atomic action.
  static func hasReduced(_ storage: StoreStorage, on thread: ThreadState) -> Bool {
    guard let step = thread.atomic else { return false }
    return step.pointee.members[..<step.pointee.index].contains {
      $0.storage === storage
    }
  }
}
