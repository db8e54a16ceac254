/// Dispatches in flight, by keys of the program.
///
/// A dispatch is in the table from before its stores can begin until they have ended, or until its completion has run.
/// The end removes it, so there is nothing to clean up. Insertion and removal take constant time, however many
/// dispatches share a key.
final class NameTable: Sendable {
  private let lines = KeyedTable<NameLine>()

  /// The dispatches of a key that have not ended, in the order of their insertion.
  func dispatches(_ key: TypedKey) -> [Dispatch] {
    (lines.present(key)?.dispatches ?? []).filter { !$0.hasEnded }
  }

  /// The keys of all dispatches, by dispatch.
  var keys: [ObjectIdentifier: [TypedKey]] {
    var keys: [ObjectIdentifier: [TypedKey]] = [:]
    for line in lines.all {
      for dispatch in line.dispatches {
        keys[ObjectIdentifier(dispatch), default: []].append(line.key)
      }
    }
    return keys
  }

  private func line(of key: TypedKey) -> NameLine { lines.member(of: key) { NameLine($0) } }

  /// Adds a dispatch, until its completion has run, and its stores have ended.
  ///
  /// - Parameter isReplaced: Whether it takes the place of an earlier one; nil if of none.
  /// - Returns: The dispatches that it has replaced.
  @discardableResult
  func insert(
    _ dispatch: Dispatch, _ key: TypedKey, replacing isReplaced: ((Dispatch) -> Bool)? = nil
  ) -> [Dispatch] {
    let line = line(of: key)
    let (number, replaced) = line.change { members, number in
      let replaced = isReplaced.map { fits in members.filter { fits($0.value) } } ?? [:]
      for former in replaced.keys { members[former] = nil }
      members[number] = dispatch
      return (number, replaced)
    }
    dispatch.at(.beforeResult) { line.remove(number) }
    return NameLine.inOrder(replaced)
  }

  /// A dispatch of a key whose stores have not ended; nil if there is none.
  func present(_ key: TypedKey) -> Dispatch? { lines.present(key)?.first }

  /// Adds a dispatch, until its stores have ended, unless the key has one already, which is returned.
  func insertUnlessPresent(_ dispatch: Dispatch, _ key: TypedKey) -> Dispatch? {
    let line = line(of: key)
    let (number, present) = line.change { members, number in
      let present = members.first?.value
      if present == nil { members[number] = dispatch }
      return (number, present)
    }
    if present == nil { dispatch.makeDetails().atStoresEnd { line.remove(number) } }
    return present
  }
}

/// The dispatches in flight of one key, kept by the closures that remove them at their ends.
private final class NameLine: Sendable {
  /// Dispatches by the number of their insertion.
  typealias Members = [UInt64: Dispatch]

  private let place: KeyedPlace
  private let state = Locked(State())

  private struct State {
    var members: Members = [:]
    /// The number of changes so far.
    var count: UInt64 = 0
  }

  init(_ place: KeyedPlace) {
    self.place = place
  }

  var key: TypedKey { place.key }

  /// The dispatches in the order of their insertion.
  var dispatches: [Dispatch] { Self.inOrder(state.withLock { Array($0.members) }) }

  /// Any of the dispatches.
  var first: Dispatch? { state.withLock { $0.members.first?.value } }

  static func inOrder(_ members: some Sequence<Members.Element>) -> [Dispatch] {
    members.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Changes the dispatches; the closure gets a new number.
  func change<Result>(_ body: (inout Members, _ number: UInt64) -> Result) -> Result {
    state.withLock { state in
      state.count += 1
      return body(&state.members, state.count)
    }
  }

  func remove(_ number: UInt64) {
    state.withLockReleasing { $0.members.removeValue(forKey: number) }
  }
}

/// The tables of a dispatcher.
final class ControlTables: DispatcherAttachment {
  let names = NameTable()
  /// Dispatches that newer ones cancel.
  let latest = NameTable()
  /// Dispatches beside which others are skipped.
  let singles = NameTable()
  /// The keys with pending dispatches or running intervals.
  let debounces = KeyedTable<RateLine>()
  let throttles = KeyedTable<RateLine>()
  /// The calls that wait for units of limits before they become dispatches.
  let waits = Locked<[ObjectIdentifier: WaitForLimit]>([:])
}

extension Dispatcher {
  var controlTables: ControlTables { attachment(orAdd: ControlTables()) }
}
