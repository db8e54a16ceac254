extension String {
  /// Returns the beginning of a long text; counts scalars, since a character may have any number of these.
  package func cut(after limit: Int) -> String {
    if utf8.count <= limit { return self }
    let start = unicodeScalars.prefix(limit)
    return start.endIndex == endIndex ? self : String(start) + "…"
  }

  /// Returns the beginning of a long key with a hash of the whole, so that two keys stay two.
  ///
  /// The hash is the same in each process. A key that was cut stays as it is.
  var cutAsKey: String {
    let (limit, hashLength) = (200, 16)
    if cut(after: limit + 1 + hashLength) == self { return self }
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return cut(after: limit) + String(hash, radix: 16)
  }
}
