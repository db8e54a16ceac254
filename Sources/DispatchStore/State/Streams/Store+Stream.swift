extension Store {
  /// Streams the changes of a source, in commit order.
  ///
  ///     for await change in store.stream(.part(\.count)) { print(change.value) }
  ///
  /// By default a consumer that lags gets only the newest change. To get every change, pass `.unbounded` (memory grows)
  /// or `.suspending(n)` (producers wait). Deltas are merged, never lost.
  ///
  /// You miss no commit from this call on: the first iterator takes over its subscription, and each further one begins
  /// its own. A value that equals the previous one is not delivered. Values are compared, and selectors computed, in
  /// the consumer's task.
  ///
  /// - Parameters:
  ///   - source: The state to follow.
  ///   - initial: Whether the present state comes first. No commit is lost, or comes twice, in between.
  ///   - buffering: The buffering while the consumer lags.
  @inlinable
  public func stream<Value>(
    _ source: StateSource<Model, Value>, initial: Bool = false,
    buffering: StreamBuffering = .newest(1)
  ) -> StoreStream<Change<Value, Action>> {
    buffering.check()
    return StoreStream { [weak self] in
      guard let self else { return StoreStream<Change<Value, Action>>.Iterator(nil) { _ in nil } }
      let reader = self.reader(of: source, buffering)
      return StoreStream<Change<Value, Action>>.Iterator(
        subscribe(reader.reader, initial, buffering, note: TypedNote<Action>.note)
      ) { note in
        reader.receive(note).map { TypedNote<Action>.change(note, $0) }
      }
    }
  }

  /// Waits until the consumers of the store's streams have dealt with all commits so far.
  ///
  /// A consumer has dealt with them when it asks for the next change, and none of these commits is kept for it. Streams
  /// that begin later are not awaited. A stream that nobody iterates is awaited until it is released. Returns early if
  /// the task is cancelled. A call inside an exclusive section stops the program.
  public nonisolated(nonsending) func streamsCaughtUp() async {
    await CatchUp(with: [storage]).wait()
  }

  @inlinable
  func reader<Value>(
    of source: StateSource<Model, Value>, _ buffering: StreamBuffering
  ) -> StateReader<Value> {
    switch source.kind {
    case .values(let makeReader):
      return makeReader(storage)
    case .model where buffering == .newest(1):
      // `Value` is the model's type.
      return presentModelReader() as! StateReader<Value>
    case .model:
      return StateReader(
        CommitReader(
          begin: { model, _ in TypedValue(model.assumingMemoryBound(to: Value.self).pointee) },
          read: { commit, _ in
            TypedValue(commit.model.assumingMemoryBound(to: Value.self).pointee)
          })
      ) { .now(TypedValue.of($0.value)) }
    }
  }

  /// Reads the model when the consumer takes a change; only the last model of a store that goes is kept.
  @usableFromInline
  func presentModelReader() -> StateReader<Model> {
    typealias Taken = (model: Model, version: UInt64)
    weak let storage = storage
    let mark = TypedValue(())
    let lastVersion = Locked<UInt64?>(nil)
    return StateReader(
      CommitReader(
        begin: { _, _ in mark }, read: { _, _ in mark },
        readLast: { last in
          TypedValue<Taken>(
            (last.model.assumingMemoryBound(to: Model.self).pointee, last.version))
        })
    ) { note in
      // The note's commit may be in the model that was taken last. Later commits of which observers are not notified are
      // no changes.
      if let last = lastVersion.withLock({ $0 }), last >= note.version { return nil }
      // If the storage has been released since the note was kept, a note with the model follows.
      let taken = note.value === mark ? storage?.snapshot : TypedValue<Taken>.of(note.value)
      guard let taken else { return nil }
      lastVersion.withLock { $0 = taken.version }
      return .now(taken.model)
    }
  }

  /// Subscribes: the present state and the commits after it, atomically.
  @usableFromInline
  func subscribe(
    _ reader: CommitReader, _ initial: Bool, _ buffering: StreamBuffering,
    note: @escaping Follower.Note
  ) -> StreamSubscription {
    let merges = buffering.merges && reader.merge != nil
    let stream = StreamStorage(merges ? .unbounded : buffering)
    let follower = StreamFollower(reader, stream, merges: merges, initial: initial, note: note)
    begin(follower)
    let streams = storage.withLock { _ in storage.attachment(orAdd: StoreStreams()) }
    streams.add(stream)
    // Weakly, so that both are released when the store goes.
    return StreamSubscription(
      stream, isSuspending: buffering.isSuspending,
      beginsWithPresent: initial && reader.merge == nil
    ) { [weak follower, weak storage, weak streams] in
      follower?.end(in: storage)
      streams?.remove(stream)
    }
  }
}
