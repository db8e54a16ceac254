extension StateSource {
  /// An element of a collection: a change for each commit that has inserted, removed or changed it.
  ///
  /// The value is nil while the element is absent, and `old` is nil if it was absent. If elements are `Equatable`, an
  /// equal one is no change. Inline observers of one element are called in order of registration. Those of several
  /// elements are called in the order in which the first one of each element was registered.
  ///
  /// For a `TrackedDictionary`, a commit costs time linear in its changes, regardless of the number of elements that
  /// are followed. For a dictionary, each commit compares those elements; for an array of elements with identity, it
  /// goes through all elements. The key is hashed, and elements are compared, in the exclusive section.
  ///
  /// - Parameters:
  ///   - path: The collection; its key path identifies it among the followed collections.
  ///   - key: The element's key; the element may be absent.
  @inlinable
  public static func element<Elements: KeyedCollection & Sendable>(
    _ path: any KeyPath<Root, Elements> & Sendable, _ key: Elements.ElementKey
  ) -> Self
  where
    Elements.ElementKey: Sendable, Elements.ElementValue: Sendable,
    Value == Elements.ElementValue?
  {
    let equality = ElementEquality<Elements.ElementValue>()
    return Self(
      .values { stream in
        let state = ElementState(equality, isOfStream: stream != nil)
        return StateReader(
          CommitReader(attach: { storage, follower in
            ElementTable.add(follower, state, path, key, to: storage) { table, isInTurn in
              ElementHub(table, isInTurn: isInTurn) { commit, hub, kept in
                table.keep(commit, for: hub, &kept)
              }
            }
          })
        ) { state.receive($0) }
      })
  }

  /// The deltas of a collection, to maintain a copy of it elsewhere.
  ///
  /// There is a delta for each commit that has changed the collection. If the sink is behind, deltas on a queue, and
  /// by default in a stream, are merged: one has the net effect of all commits since the last one. Apply the deltas
  /// in order to a copy from the time of the subscription, and you get the content at the last one's version. With
  /// `initial`, the first delta is a reset to the present content, even if that is empty, so you can start from any
  /// copy.
  ///
  /// For a `TrackedDictionary`, a commit costs time linear in its changes. If another value was assigned, the delta is
  /// a reset. A reset shares the new content's storage, so the next commit copies that storage while you keep the
  /// delta. For other collections each commit compares all elements, and keeps them: a commit that changes a
  /// dictionary copies it. Keys are hashed, elements compared and deltas merged in the exclusive section. If
  /// `shouldNotifyObservers` suppresses a commit, the next delta includes its changes.
  ///
  /// - Parameter path: The collection: a `TrackedDictionary`, a dictionary, or an array of elements with identity.
  @inlinable
  public static func deltas<Elements: KeyedCollection & Sendable>(
    _ path: any KeyPath<Root, Elements> & Sendable
  ) -> Self
  where
    Elements.ElementKey: Sendable, Elements.ElementValue: Sendable,
    Value == KeyedDelta<Elements.ElementKey, Elements.ElementValue>
  {
    Self(
      .values { _ in
        typealias Kept = TypedValue<KeyedDelta<Elements.ElementKey, Elements.ElementValue>>
        let reader = DeltaReader(path)
        return StateReader(
          CommitReader(
            begin: { Kept(reader.begin($0, $1)) },
            read: { commit, _ in reader.readDelta(of: commit).map { Kept($0) } },
            keepsHidden: true, end: { reader.end() },
            merge: { earlier, next in
              let kept = Kept.cast(earlier)
              kept.value.merge(Kept.of(next), reader.equality)
              return kept.value.isEmpty ? nil : kept
            })
        ) { note in
          let delta = Kept.of(note.value)
          return delta.isEmpty ? nil : .now(delta)
        }
      })
  }
}
