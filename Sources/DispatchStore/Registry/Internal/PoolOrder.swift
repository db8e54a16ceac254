/// The order in which the stores of a dispatch run straight in the concurrent queue, one after the other.
///
/// A store that answers with more than a reduction may block: only those come after it that wait for it.
/// Reductions that wait for no such store come first.
struct PoolOrder {
  /// By turn: the place of the store.
  let places: [Int]

  /// Nil where a store would be held up by one that it does not wait for.
  ///
  /// - Parameters:
  ///   - prerequisites: By place: the earlier places that it waits for; nil where none waits.
  ///   - mayBlock: By place: whether the store answers with more than a reduction.
  init?(prerequisites: [[Int]]?, mayBlock: [Bool]) {
    // By place: the last one that may block and that it waits for, also by way of others.
    var blockers: [Int?] = []
    var (first, rest): ([Int], [Int]) = ([], [])
    for place in mayBlock.indices {
      let waits = prerequisites?[place] ?? []
      let blocker = waits.compactMap { mayBlock[$0] ? $0 : blockers[$0] }.max()
      blockers.append(blocker)
      if blocker == nil, !mayBlock[place] { first.append(place) } else { rest.append(place) }
    }
    var last: Int?
    for place in rest {
      // The last one itself waits for all that were before it.
      guard blockers[place] == last else { return nil }
      if mayBlock[place] { last = place }
    }
    places = first + rest
  }

  /// The same, where it is another one than that of the places.
  var permutation: [Int]? { places == Array(places.indices) ? nil : places }
}
