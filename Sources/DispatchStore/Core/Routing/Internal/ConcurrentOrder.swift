/// The order in which the stores of one dispatch run inline on the concurrent queue.
///
/// A store that does more than reduce may block its thread, so only stores that wait for it come after it. Reductions
/// that wait for no such store come first.
struct ConcurrentOrder {
  /// Store indices, by position.
  let storeIndices: [Int]

  /// Makes the order, or nil if a store would be delayed by one that it does not wait for.
  ///
  /// - Parameters:
  ///   - prerequisites: By store index: the earlier indices that it waits for; nil if no store waits.
  ///   - mayBlock: By store index: whether the store handles the action by more than a reduction.
  init?(prerequisites: [[Int]]?, mayBlock: [Bool]) {
    // By store index: the last of its direct and indirect prerequisites that may block.
    var blockers: [Int?] = []
    var (first, rest): ([Int], [Int]) = ([], [])
    for index in mayBlock.indices {
      let waits = prerequisites?[index] ?? []
      let blocker = waits.compactMap { mayBlock[$0] ? $0 : blockers[$0] }.max()
      blockers.append(blocker)
      if blocker == nil, !mayBlock[index] { first.append(index) } else { rest.append(index) }
    }
    var last: Int?
    for index in rest {
      // The last blocking store itself waits for all blocking stores before it.
      guard blockers[index] == last else { return nil }
      if mayBlock[index] { last = index }
    }
    storeIndices = first + rest
  }

  /// The store indices, or nil if they are in ascending order.
  var permutation: [Int]? { storeIndices == Array(storeIndices.indices) ? nil : storeIndices }
}
