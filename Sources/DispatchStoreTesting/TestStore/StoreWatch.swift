import DispatchStore

/// The progress of assertions about a store's changes, for any type of model.
protocol AnyStoreWatch: Sendable {
  var storeIdentity: ObjectIdentifier { get }
  /// The commits that have not been asserted yet.
  var unasserted: [RecordedCommit] { get }
  /// Marks all commits as asserted, and returns the failure to report for them.
  ///
  /// - Parameter origin: The place that they come from, as in "changed in …".
  func skipAll(_ origin: String) -> String?
}

/// The progress of assertions about a store's changes: up to which commit, in commit order.
final class StoreWatch<Model: Sendable, Action: ActionType>: AnyStoreWatch {
  let store: Store<Model, Action>
  private let recorder: RecorderMiddleware
  private let token: ObserverToken
  private let asserted: Awaited<Asserted>

  private struct Asserted: Sendable {
    var version: UInt64
    var model: Model
  }

  init(_ store: Store<Model, Action>, _ recorder: RecorderMiddleware) {
    self.store = store
    self.recorder = recorder
    token = recorder.watch(store)
    let start = recorder.journal.read { $0.commits(of: ObjectIdentifier(store)).first }
    let model = start?.model.flatMap { $0 as? Model } ?? store.model
    asserted = Awaited(Asserted(version: start?.version ?? store.version, model: model))
  }

  var storeIdentity: ObjectIdentifier { ObjectIdentifier(store) }
  var version: UInt64 { asserted.read(\.version) }

  var unasserted: [RecordedCommit] { find { commits, version in Array(commits.after(version)) } }

  /// Whether a dispatch has made commits that have not been asserted yet.
  func hasUnasserted(of dispatchID: DispatchID) -> Bool {
    find { commits, version in
      commits.last(of: dispatchID, orOutsideBy: nil).map { $0.version > version } ?? false
    }
  }

  /// Calls a closure with the store's commits, and the version up to which they are asserted.
  ///
  /// Called under the recorder's lock, because commits that are shared meanwhile would be copied.
  private func find<Value>(_ body: (StoreCommits, UInt64) -> Value) -> Value {
    let version = version
    return recorder.journal.read { body($0.commits(of: storeIdentity), version) }
  }

  /// Marks the commits up to one as asserted, and returns the models before and after them.
  func advance(to commit: RecordedCommit?) -> (before: Model, after: Model) {
    let models = asserted.change { asserted in
      let before = asserted.model
      // One that is released was asserted by another task; as an optional type, nil would be a model.
      if let commit, let recorded = commit.model, let model = recorded as? Model {
        asserted = Asserted(version: commit.version, model: model)
      }
      return (before, asserted.model)
    }
    if let commit {
      let released = recorder.journal.changeQuietly {
        $0.takeModels(of: storeIdentity, upTo: commit.version)
      }
      // Outside of the lock, since that may run code of the program.
      withExtendedLifetime(released) {}
    }
    return models
  }

  /// Marks the changes of an action as asserted.
  ///
  /// That is up to its last commit, or to a later one outside of dispatches before its end.
  func advance(past dispatchID: DispatchID?) -> (before: Model, after: Model) {
    let end = dispatchID.flatMap { id in
      recorder.journal.read { $0[id]?.storeRuns.last { $0.store == storeIdentity }?.endedAt }
    }
    return advance(
      to: find { commits, version in
        let last = commits.last(of: dispatchID, orOutsideBy: end)
        return last.flatMap { $0.version > version ? $0 : nil }
      })
  }

  /// Marks the next commits as asserted, as long as they are of these dispatches.
  func skip(_ dispatches: Set<DispatchID>) {
    let last = find { commits, version in
      commits.after(version).prefix { commit in
        commit.dispatchID.map { dispatches.contains($0) } == true
      }.last
    }
    _ = advance(to: last)
  }

  func skipAll(_ origin: String) -> String? {
    let (before, after) = advance(to: unasserted.last)
    return ChangeCheck(
      storeIdentifier: store.identifier, subject: origin, before: before, after: after,
      exhaustivity: .on
    ).unexpected(origin)
  }
}
