import DispatchStore

/// Makes a failing program smaller, by leaving things out as long as it still fails.
struct FuzzShrinking {
  private(set) var program: FuzzProgram
  private let fails: (FuzzProgram) -> Bool
  private let deadline: ContinuousClock.Instant

  static func shrink(
    _ program: FuzzProgram, for time: Duration, while fails: @escaping (FuzzProgram) -> Bool
  ) -> FuzzProgram {
    var shrinking = FuzzShrinking(program: program, fails: fails, deadline: .now + time)
    while shrinking.shrinkOnce() {}
    return shrinking.program
  }

  /// Makes one pass over all that may be left out; whether anything was.
  private mutating func shrinkOnce() -> Bool {
    let before = program.size
    for body in program.bodies.indices {
      for place in program.bodies[body].indices.reversed() {
        attempt { $0.bodies[body].remove(at: place) }
      }
    }
    for place in program.groups.indices {
      attempt { $0.groups[place].controls = [] }
      for step in program.groups[place].steps.reversed() {
        attempt { $0.groups[place].undos[step] = nil }
        attempt { $0.groups[place].steps.removeAll { $0 == step } }
      }
    }
    for place in program.effects.indices { attempt { $0.effects[place] = nil } }
    for hook in program.hooks.keys { attempt { $0.hooks[hook] = nil } }
    for place in program.dispatches.indices where program.isMade(place) {
      if !program.dispatches[place].after.isEmpty { attempt { $0.dispatches[place].after = [] } }
      for control in program.dispatches[place].controls.indices.reversed() {
        attempt { $0.dispatches[place].controls.remove(at: control) }
      }
      if program.dispatches[place].actions.count > 1 {
        attempt { $0.dispatches[place].actions.removeLast() }
      }
      for action in program.dispatches[place].actions { simplify(action) }
    }
    for place in program.stores.indices where !program.stores[place].waitFor.isEmpty {
      attempt { $0.stores[place].waitFor = [] }
    }
    return program.size < before && .now < deadline
  }

  /// Reductions in place of operations, without what these depend on.
  private mutating func simplify(_ action: Int) {
    for (store, answer) in program.actions[action].answers {
      if answer.dependsOnForeign || !answer.dependsOn.isEmpty {
        attempt {
          $0.actions[action].answers[store]!.dependsOnForeign = false
          $0.actions[action].answers[store]!.dependsOn = []
        }
      }
      if case .reduction = answer.kind { continue }
      attempt { $0.actions[action].answers[store] = .init(kind: .reduction, body: 0) }
    }
  }

  private mutating func attempt(_ change: (inout FuzzProgram) -> Void) {
    guard .now < deadline else { return }
    var smaller = program
    change(&smaller)
    if smaller.size < program.size, fails(smaller) { program = smaller }
  }
}

extension FuzzProgram {
  /// How much there is to read.
  fileprivate var size: Int { FuzzText.of(self).utf8.count }

  /// Whether a statement makes the dispatch.
  fileprivate func isMade(_ dispatch: Int) -> Bool {
    bodies.joined().contains { statement in
      switch statement {
      case .dispatch(dispatch), .send(dispatch): true
      case .group(let place):
        groups[place].steps.contains { $0 == dispatch || groups[place].undos[$0] == dispatch }
      default: false
      }
    }
  }
}
