#if PostgreSQL
  import CPostgreSQL
#endif
#if PostgreSQL || SIMULATION
  /// The partition of a database on a server.
  package struct PostgreSQLPlace: Sendable {
    let url: String
    let partition: String
    /// The kind and the place for messages, without the password.
    let description: String
    /// Why it can't be opened; nil if nothing is wrong with its names.
    let problem: String?

    /// The partition of a simulated server.
    package init(partition: String) {
      (url, self.partition, problem) = ("", partition, nil)
      description = "PostgreSQL partition \"\(partition)\""
    }

    /// libpq's reason is not shown: it can have a part of the password.
    private static let unreadable = """
      the URL can't be read. Write it like postgresql://user@host:5432/database, with special characters as %40, or as \
      key=value pairs.
      """
  }
#endif
#if PostgreSQL
  extension PostgreSQLPlace {
    init(url: String, partition: String) {
      (self.url, self.partition) = (url, partition)
      guard let values = Self.values(of: url) else {
        (problem, description) = (Self.unreadable, "PostgreSQL partition \"\(partition)\"")
        return
      }
      // libpq would cut a name at a zero character.
      problem =
        partition.utf8.contains(0) ? "the partition's name can't have a zero character." : nil
      let host = values["host"] ?? values["hostaddr"] ?? "the local socket"
      let port = values["port"].map { ":\($0)" } ?? ""
      let name = values["dbname"] ?? values["user"] ?? "the user's"
      description = "PostgreSQL database \"\(name)\" at \(host)\(port), partition \"\(partition)\""
    }

    /// Reads the parts of a URL; nil if it can't be read, or if a part of the password may be in another one.
    private static func values(of url: String) -> [String: String]? {
      guard !url.utf8.contains(0), !hasSlashInPassword(url),
        let options = PQconninfoParse(url, nil)
      else { return nil }
      defer { PQconninfoFree(options) }
      var values: [String: String] = [:]
      var option = options
      while let keyword = option.pointee.keyword {
        if let value = option.pointee.val {
          values[String(cString: keyword)] = String(cString: value)
        }
        option += 1
      }
      // A password with an "@" that is not written as %40 reaches into the host. Sockets without a file begin with one.
      let hasAtInPassword = (values["host"] ?? "").dropFirst().contains("@")
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      let hasPorts = (values["port"] ?? "").utf8.allSatisfy {
        digits.contains($0) || $0 == UInt8(ascii: ",")
      }
      return hasPorts && !hasAtInPassword ? values : nil
    }

    /// Whether a "/" comes before an "@" in a URL: libpq takes what is before it for the host and the port.
    private static func hasSlashInPassword(_ url: String) -> Bool {
      let schemes = ["postgresql://", "postgres://"]
      guard let scheme = schemes.first(where: { url.hasPrefix($0) }) else { return false }
      let names = url.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "?") }
      return names.drop { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: "@"))
    }
  }
#endif
