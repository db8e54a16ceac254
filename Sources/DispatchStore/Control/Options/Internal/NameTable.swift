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

  /// Adds a dispatch, until its completion has run, and its stores have ended.
  func insert(_ dispatch: Dispatch, _ key: TypedKey) {
    let (place, _) = change(key) { members, number in members[number] = dispatch }
    dispatch.at(.beforeResult, removal(of: place))
  }

  /// Adds a dispatch in place of all earlier ones of the key but one, for as long.
  ///
  /// - Returns: The dispatches that it has replaced.
  func insert(_ dispatch: Dispatch, _ key: TypedKey, replacingAllBut spared: Dispatch?)
    -> [Dispatch]
  {
    let (place, replaced) = change(key) { members, number in
      let replaced = members.filter { $0.value !== spared }
      members = members.filter { $0.value === spared }
      members[number] = dispatch
      return replaced
    }
    dispatch.at(.beforeResult, removal(of: place))
    return NameLine.inOrder(replaced)
  }

  /// A dispatch of a key whose stores have not ended; nil if there is none.
  func present(_ key: TypedKey) -> Dispatch? { lines.present(key)?.first }

  /// Adds a dispatch, until its stores have ended, unless the key has one already, which is returned.
  func insertUnlessPresent(_ dispatch: Dispatch, _ key: TypedKey) -> Dispatch? {
    let (place, present) = change(key) { members, number in
      let present = members.first?.value
      if present == nil { members[number] = dispatch }
      return present
    }
    if present == nil { dispatch.makeDetails().atStoresEnd(removal(of: place)) }
    return present
  }

  private typealias Place = (line: NameLine, number: UInt64)

  /// Changes the dispatches of a key under the lock; the closure gets the number for a new one.
  private func change<Result>(
    _ key: TypedKey, _ body: (inout NameLine.Members, _ number: UInt64) -> Result
  ) -> (Place, Result) {
    lines.withMember(of: key, orAdd: { NameLine(key) }) { line in
      line.change(body).map { ((line: line, number: $0.0), $0.1) }
    }
  }

  private func removal(of place: Place) -> @Sendable () -> Void {
    { [lines] in
      if place.line.remove(place.number) { lines.remove(place.line, of: place.line.key) }
    }
  }
}

/// The dispatches in flight of one key.
private final class NameLine: Sendable {
  /// Dispatches by the number of their insertion.
  typealias Members = [UInt64: Dispatch]

  let key: TypedKey
  private let state = Locked(State())

  private struct State {
    var members: Members = [:]
    /// The number of changes so far.
    var count: UInt64 = 0
    /// Whether the last dispatch has left, and none comes any longer.
    var isRetired = false
  }

  init(_ key: TypedKey) {
    self.key = key
  }

  /// The dispatches in the order of their insertion.
  var dispatches: [Dispatch] { Self.inOrder(state.withLock { Array($0.members) }) }

  /// Any of the dispatches.
  var first: Dispatch? { state.withLock { $0.members.first?.value } }

  static func inOrder(_ members: some Sequence<Members.Element>) -> [Dispatch] {
    members.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Changes the dispatches; the closure gets a new number, which is returned with its result.
  ///
  /// Returns nil if the line is retired, and the caller must take another.
  func change<Result>(
    _ body: (inout Members, _ number: UInt64) -> Result
  ) -> (UInt64, Result)? {
    state.withLock { state -> (UInt64, Result)? in
      if state.isRetired { return nil }
      state.count += 1
      return (state.count, body(&state.members, state.count))
    }
  }

  /// Removes a dispatch; returns whether the line is retired.
  func remove(_ number: UInt64) -> Bool {
    let (removed, isRetired) = state.withLock { state in
      let removed = state.members.removeValue(forKey: number)
      state.isRetired = state.members.isEmpty
      return (removed, state.isRetired)
    }
    withExtendedLifetime(removed) {}
    return isRetired
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
}

extension Dispatcher {
  var controlTables: ControlTables { attachment(orAdd: ControlTables()) }
}
