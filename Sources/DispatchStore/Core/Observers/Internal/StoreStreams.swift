/// A stream of a store, whose consumer may lag.
protocol FollowingStream: AnyObject, Sendable {
  /// Calls back once the consumer has taken what is kept now, and asks for more, or once the stream ends.
  ///
  /// Returns false if that is so already.
  func watch(_ watch: CatchUp) -> Bool
  /// Stops waiting for the consumer.
  func remove(_ watch: CatchUp)
  /// Ends the stream, since the store is gone; what was kept can still be taken.
  func end()
}

/// The streams of a store.
final class StoreStreams: StoreAttachment, @unchecked Sendable {
  // because its superclass is
  struct State {
    var lastNumber = 0
    var streams: [ObjectIdentifier: (number: Int, stream: any FollowingStream)] = [:]
  }
  let state = Locked(State())

  func add(_ stream: any FollowingStream) {
    state.withLock { state in
      state.lastNumber += 1
      state.streams[ObjectIdentifier(stream)] = (state.lastNumber, stream)
    }
  }

  func remove(_ stream: any FollowingStream) {
    // Released outside of the lock, because what it keeps is the program's.
    state.withLockReleasing { $0.streams.removeAndShrink(ObjectIdentifier(stream)) }
  }

  /// The streams in the order in which they were added, because the order of a hash table differs between processes.
  var all: [any FollowingStream] {
    state.withLock { $0.streams.values.sorted { $0.number < $1.number }.map(\.stream) }
  }
}
