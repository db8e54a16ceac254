/// The exclusion keys of a dispatcher, with the dispatches that hold or await them.
///
/// Under the locks keys are distinguished by their identity; the program's code compares them outside.
final class ExclusionTable: DispatcherAttachment {
  private let names = KeyedTable<KeyedPlace>()
  private let state = Locked(ExclusionState<ObjectIdentifier, Dispatch>())

  // MARK: Keys

  /// The objects that stand for these keys, one for each, as long as dispatches need them.
  func keys(_ keys: [TypedKey]) -> [KeyedPlace] {
    var all: [KeyedPlace] = []
    for key in keys {
      let member = names.member(of: key) { $0 }
      if !all.contains(where: { $0 === member }) { all.append(member) }
    }
    return all
  }

  /// Whether no dispatch has or needs a key.
  var isEmpty: Bool { state.withLock(\.isEmpty) && names.count == 0 }

  // MARK: Dispatches

  /// Whether the dispatch has its keys.
  ///
  /// Otherwise it waits, and its gate may open once it has them.
  func enter(_ dispatch: Dispatch, _ keys: [KeyedPlace]) -> Bool {
    yieldPoint(.enterExclusion, dispatch.id.description)
    if state.withLock({ $0.enter(dispatch, keys.map(ObjectIdentifier.init)) }) { return true }
    WaitGraph.waits(atGate: dispatch)
    return false
  }

  func leave(_ dispatch: Dispatch) {
    yieldPoint(.leaveExclusion, dispatch.id.description)
    open(state.withLock { $0.leave(dispatch) })
  }

  func overtake(_ dispatch: Dispatch) {
    open(state.withLock { $0.overtake(dispatch) })
  }

  private func open(_ granted: [Dispatch]) {
    for dispatch in granted { dispatch.gateMayOpen() }
  }

  /// The dispatches that keep a dispatch from these keys.
  ///
  /// These are the keys' holders and the dispatches right before it in the lines. With `followingLines`, they are the
  /// holders, and the holders of keys that dispatches before it need.
  func obstacles(
    of dispatch: Dispatch, _ keys: [KeyedPlace], followingLines: Bool = false
  ) -> [GateObstacle] {
    state.withLock { state in
      if followingLines {
        return keys.compactMap { key in
          state.holder(of: ObjectIdentifier(key)).map {
            GateObstacle(dispatch: $0, key: key.key, isHolder: true)
          }
        }
          + state.holders(before: dispatch).map {
            GateObstacle(dispatch: $0, key: keys[0].key, isHolder: false)
          }
      }
      return keys.flatMap { key -> [GateObstacle] in
        let id = ObjectIdentifier(key)
        let holder = state.holder(of: id)
        let predecessor = state.predecessor(of: dispatch, at: id)
        return [(holder, true), (predecessor, false)].compactMap { other, isHolder in
          guard let other, other !== dispatch else { return nil }
          return GateObstacle(dispatch: other, key: key.key, isHolder: isHolder)
        }
      }
    }
  }
}

extension Dispatcher {
  var exclusionTable: ExclusionTable { attachment(orAdd: ExclusionTable()) }
}
