extension FuzzProgram {
  /// By dispatch: the one whose block makes it, and with which it is cancelled.
  var makers: [Int: Int] {
    var makers: [Int: Int] = [:]
    for action in actions {
      for answer in action.answers.values { note(action.dispatch, answer.body, in: &makers) }
      note(action.dispatch, dispatches[action.dispatch].effect, in: &makers)
    }
    return makers
  }

  /// The dispatches that unstructured tasks make, which may count as blocks in whose tasks they were started.
  var madeInTasks: Set<Int> {
    var makers: [Int: Int] = [:]
    for case .task(let body) in bodies.joined() { note(0, body, in: &makers) }
    return Set(makers.keys)
  }

  private func note(_ maker: Int, _ body: Body, in makers: inout [Int: Int]) {
    for statement in bodies[body] {
      switch statement {
      case .dispatch(let number), .send(let number): makers[number] = maker
      case .group(let place):
        for step in groups[place].steps { makers[step] = maker }
      case .commit(_, let body?), .commitOwn(let body?): note(maker, body, in: &makers)
      case .task(let body), .suspended(_, let body): note(maker, body, in: &makers)
      case .children(let bodies): for body in bodies { note(maker, body, in: &makers) }
      default: break
      }
    }
  }
}
