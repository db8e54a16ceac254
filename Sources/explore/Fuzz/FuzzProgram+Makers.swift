extension FuzzProgram {
  /// By dispatch: the one whose block makes it, and with which it is cancelled.
  var makers: [Int: Int] {
    var makers: [Int: Int] = [:]
    for action in actions {
      for answer in action.answers.values { note(action.dispatch, answer.body, in: &makers) }
    }
    return makers
  }

  private func note(_ maker: Int, _ body: Body, in makers: inout [Int: Int]) {
    for statement in bodies[body] {
      switch statement {
      case .dispatch(let number), .send(let number): makers[number] = maker
      case .commit(_, let body?), .commitOwn(let body?): note(maker, body, in: &makers)
      case .task(let body), .suspended(_, let body): note(maker, body, in: &makers)
      case .children(let bodies): for body in bodies { note(maker, body, in: &makers) }
      default: break
      }
    }
  }
}
