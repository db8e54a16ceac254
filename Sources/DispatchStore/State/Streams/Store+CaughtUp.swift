extension Store {
  /// Waits until the consumers of the store's streams have dealt with all commits so far.
  ///
  /// A consumer has, when it asks for the next change and nothing up to these commits is kept for it. Streams that
  /// begin later are not waited for. A stream that nobody iterates is, until it is released. Returns early if the task
  /// is cancelled.
  public nonisolated(nonsending) func streamsCaughtUp() async {
    await CatchUp(with: [storage]).wait()
  }
}
