extension Store {
  /// Calls an observer with each change of a source, in commit order, until its token ends.
  ///
  /// An inline observer is called once for each change, on the thread that committed, before `updateModel` returns.
  /// If that thread must not wait, the store's notifier calls. Inline observers are called in order of registration;
  /// for those of elements see `StateSource.element`. While one runs, the store's other changes queue up:
  ///
  /// - Callers from outside and of `.sync` wait for their turn.
  /// - Actions in lanes and on the concurrent queue leave their changes to the notifier. For a whole model, each
  ///   such change keeps its model, so the next commit copies it.
  ///
  /// An observer on a queue keeps no commit waiting. If the queue is behind, changes of parts, selectors and elements
  /// are kept one by one. Whole models and deltas are delivered as one change for all commits since the last call.
  ///
  /// An observer may dispatch in every mode, change stores, and cancel itself or others. If it is added while
  /// observers are notified of a commit, it is notified from the next commit on.
  ///
  /// - Parameters:
  ///   - source: The state to follow.
  ///   - initial: Whether the observer gets the present state first. No commit is lost, or comes twice, in between.
  ///   - delivery: The place where the observer is called.
  ///   - body: Called with each change, one call after the other, never while the store's lock is held.
  @inlinable
  public func observe<Value>(
    _ source: StateSource<Model, Value>, initial: Bool = false,
    on delivery: ObserverDelivery = .inline,
    _ body: @escaping @Sendable (Change<Value, Action>) -> Void
  ) -> ObserverToken {
    switch source.kind {
    case .model where delivery.isInline:
      return observe(
        ModelObserver { change in
          body(
            change.model.assumingMemoryBound(to: ObservedModel<Value, Action>.self).pointee.change)
        }, initial: initial)
    case .model:
      return observeCoalesced(on: delivery, initial: initial) { change in
        withUnsafePointer(to: change) {
          body(
            UnsafeRawPointer($0).assumingMemoryBound(to: Change<Value, Action>.self).pointee)
        }
      }
    case .values(let makeReader):
      let reader = makeReader(nil)
      return follow(
        CallingFollower(
          reader.reader, on: delivery, initial: initial, note: TypedNote<Action>.note,
          call: { note, follower in
            // Asked again, because computing the value may take long.
            guard let content = reader.receive(note), follower.isCalled else { return }
            body(TypedNote<Action>.change(note, content))
          }))
    }
  }

  /// Calls a main-actor observer on the main queue with each change of a source.
  ///
  /// Otherwise behaves like an observer on a queue.
  ///
  /// - Parameters:
  ///   - source: The state to follow.
  ///   - initial: Whether the observer gets the present state first.
  ///   - delivery: `.main`.
  ///   - body: Called with each change, one call after the other. No commit waits for it.
  @inlinable
  public func observe<Value>(
    _ source: StateSource<Model, Value>, initial: Bool = false, on delivery: MainDelivery,
    _ body: @escaping @MainActor @Sendable (Change<Value, Action>) -> Void
  ) -> ObserverToken {
    observe(source, initial: initial, on: .onMain, MainDelivery.isolated(body))
  }

  @usableFromInline
  func observeCoalesced(
    on delivery: ObserverDelivery, initial: Bool,
    _ body: @escaping @Sendable (Change<Model, Action>) -> Void
  ) -> ObserverToken {
    observe(
      CoalescingObserver(of: storage, on: ObserverQueue(delivery), body), initial: initial)
  }

  @usableFromInline
  func follow(_ follower: Follower) -> ObserverToken {
    begin(follower)
    return ObserverToken { [weak storage] in follower.end(in: storage) }
  }

  /// Adds a follower, until it leaves.
  func begin(_ follower: Follower) {
    if let attach = follower.reader.attach {
      attach(storage, follower)
    } else {
      add(follower, initial: follower.hasInitial)
    }
  }
}
