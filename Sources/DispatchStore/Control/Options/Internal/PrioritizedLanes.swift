/// The keys of the lanes in which dispatches have priorities.
final class PrioritizedLanes: DispatcherAttachment {
  private let places = KeyedTable<KeyedPlace>()
  private let kept = Locked<[ObjectIdentifier: KeyedPlace]>([:])

  func contains(_ key: TypedKey) -> Bool {
    guard let place = places.present(key) else { return false }
    return kept.withLock { $0[ObjectIdentifier(place)] != nil }
  }

  func insert(_ key: TypedKey) {
    let place = places.member(of: key) { $0 }
    kept.withLock { $0[ObjectIdentifier(place)] = place }
  }

  func remove(_ key: TypedKey) {
    guard let place = places.present(key) else { return }
    kept.withLockReleasing { $0.removeValue(forKey: ObjectIdentifier(place)) }
  }
}
