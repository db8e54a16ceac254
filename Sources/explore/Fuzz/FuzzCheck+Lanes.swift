import DispatchStore

// Lanes: one holder at once, first in, first out.
extension FuzzCheck {
  private struct Lane: Hashable {
    var dispatcher: Int
    var mode: FuzzProgram.DispatchPlan.Mode
  }

  func checkLanes() {
    var lanes: [Lane: [Int]] = [:]
    for number in spans.keys.sorted() {
      let plan = program.dispatches[number]
      for lane in plan.lanes {
        lanes[Lane(dispatcher: plan.dispatcher, mode: lane), default: []].append(number)
      }
    }
    for (lane, numbers) in lanes { check(lane, numbers) }
  }

  private func check(_ lane: Lane, _ numbers: [Int]) {
    // A dispatch that has run nothing may have been cancelled, and has ended elsewhere.
    let holders = numbers.compactMap { number -> (number: Int, first: Int, last: Int)? in
      let parts = parts(of: number)
      guard let first = parts.compactMap(\.began.first).min() else { return nil }
      let last = max(
        parts.compactMap(\.last).max() ?? first,
        // At its deadline it may complete beside its block.
        hasTimeLimit(number) ? first : spans[number]?.completed.first ?? first)
      return (number, first, last)
    }.sorted { $0.first < $1.first }
    for (holder, next) in zip(holders, holders.dropFirst()) {
      check(
        holder.last < next.first,
        "#\(next.number) began while #\(holder.number) held \(lane.mode) of d\(lane.dispatcher)")
    }
    for (place, later) in holders.enumerated() {
      for earlier in holders[..<place] where !mayBeDelayed(later.number) {
        guard let called = spans[earlier.number]?.called,
          let returned = spans[later.number]?.returned
        else { continue }
        check(
          returned > called,
          "#\(earlier.number) ran before #\(later.number), after which it was dispatched to "
            + "\(lane.mode) of d\(lane.dispatcher)")
      }
    }
  }
}
