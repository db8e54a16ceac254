extension Answers {
  /// The answers of one copy, without its folder.
  ///
  /// Throws if the copies do not agree.
  func ofOneCopy(among copies: Int) throws(Failure) -> Answers {
    if copies == 1 { return self }
    let share = Share(copies: copies)
    return Answers(
      commits: try share.of(commits, .commits),
      changes: try share.of(changes, .changes),
      commitsByAuthor: try share.of(commitsByAuthor, .commitsByAuthor),
      addedByAuthor: try share.of(addedByAuthor, .addedByAuthor),
      deletedByAuthor: try share.of(deletedByAuthor, .deletedByAuthor),
      takeoversByAuthor: try share.of(takeoversByAuthor, .takeoversByAuthor),
      linesByFile: try share.ofFirst(linesByFile, .linesByFile),
      lastAuthorByFile: try share.ofFirst(lastAuthorByFile, .lastAuthorByFile),
      churnByFolder: try share.ofFirst(churnByFolder, .churnByFolder),
      commitsByDay: try share.of(commitsByDay, .commitsByDay))
  }
}

/// A figure, split among the copies.
///
/// Each copy has separate paths and folders; authors and days are shared by all copies, so their counts divide.
private struct Share {
  let copies: Int

  func of(_ count: Int, _ figure: Figure, key: String? = nil) throws(Failure) -> Int {
    guard count.isMultiple(of: copies) else {
      throw disagreement(figure, key, "\(count) in all do not divide by \(copies)")
    }
    return count / copies
  }

  func of<Key: FigureKey>(
    _ counts: [Key: Int], _ figure: Figure
  ) throws(Failure) -> [Key: Int] {
    var shares: [Key: Int] = [:]
    for (key, count) in counts { shares[key] = try of(count, figure, key: key.description) }
    return shares
  }

  func ofFirst<Value: Equatable>(
    _ values: [Path: Value], _ figure: Figure
  ) throws(Failure) -> [Path: Value] {
    let first = values.filter { $0.key.copy == 0 }
    guard values.count == first.count * copies else {
      throw disagreement(figure, nil, "\(values.count) keys in all, \(first.count) in the first")
    }
    for (path, value) in values where first[Path(path.name)] != value {
      throw disagreement(figure, path.description, "not as in the first copy")
    }
    return first
  }

  private func disagreement(_ figure: Figure, _ key: String?, _ reason: String) -> Failure {
    let suffix = key.map { " of '\($0)'" } ?? ""
    return Failure(.software, "the copies disagree in \(figure.rawValue)\(suffix): \(reason)")
  }
}
