/// A commit of an atomic action as its observers get it.
struct AtomicChange {
  /// The change for inline observers; nil if there are none, or the commit is hidden.
  let change: KeptChange?
  /// The work for observers that have kept a part of the commit.
  let kept: KeptCommit

  /// Creates no change, for a store that is gone.
  init() { (change, kept) = (nil, KeptCommit()) }

  /// Creates the change of a commit; called in its exclusive section.
  ///
  /// - Parameter isDelivered: Whether observers are to know of the commit.
  init<Model, Action>(
    of store: Store<Model, Action>, by action: Action?, _ owner: any CommitOwner,
    isDelivered: Bool
  ) {
    change = isDelivered && store.storage.isDelivered ? store.makeChange(action, owner) : nil
    kept =
      store.storage.isKept
      ? store.keepChange(action, owner, owner.dispatchID, isDelivered, isTogether: true)
      : KeptCommit()
  }
}

/// A commit of an atomic action of which observers are notified once all sections are left.
struct AtomicDelivery {
  /// The store index.
  let index: Int
  private let storage: StoreStorage
  private var turn: NotificationQueue.Turn
  private var kept: KeptCommit
  /// Published models, to be released outside of the sections.
  private var former: [any Sendable] = []

  /// Makes a commit, and decides who notifies its observers; called in its exclusive section.
  ///
  /// - Parameter isHidden: Whether the reducer hides the commit from observers.
  init(to storage: StoreStorage, at index: Int, isHidden: Bool, _ context: AtomicContext) {
    let made = context.withAction(at: index) {
      context.route.entries[index].makeChange(
        by: $0, of: context.leader, isDelivered: !isHidden)
    }
    storage.version &+= 1
    (self.index, self.storage, kept) = (index, storage, made.kept)
    turn = storage.decideTurn(made.change, for: context.leader, on: context.thread)
  }

  /// Publishes the model, in the exclusive sections.
  ///
  /// Only once the commits are kept to be saved: whoever reads one may flush then.
  mutating func publish() { former = storage.publish() }

  /// Notes the thread as the store's notifier, if it is.
  func noteTurn(on thread: ThreadState) {
    if isNotifier { thread.turns.append(.passUnretained(storage)) }
  }

  private var isNotifier: Bool { if case .notify = turn { true } else { false } }

  /// Whether the thread has to wait for the store's turn.
  var awaitsTurn: Bool { if case .wait = turn { true } else { false } }

  /// Schedules the calls that need no turn.
  mutating func scheduleBeforeTurn() { kept.scheduleBeforeTurn() }

  /// Waits for the store's turn, if the thread has to, and notes the thread as its notifier then.
  mutating func takeTurn(on thread: ThreadState) {
    guard case .wait(let gate) = turn else { return }
    turn = storage.takeTurn(at: gate, on: thread)
    noteTurn(on: thread)
  }

  /// Notifies observers, or leaves that to the store's notifier.
  func carryOut(on thread: ThreadState) {
    storage.carryOut(turn, kept, isNoted: isNotifier, on: thread)
  }

  /// Waits until lagging observers have caught up.
  func waitForObservers(on thread: ThreadState) {
    storage.waitForObservers(kept, on: thread)
  }
}
