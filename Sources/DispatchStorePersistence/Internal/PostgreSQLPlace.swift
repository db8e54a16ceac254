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
      guard !url.utf8.contains(0), let options = PQconninfoParse(url, nil) else {
        (problem, description) = (Self.unreadable, "PostgreSQL partition \"\(partition)\"")
        return
      }
      defer { PQconninfoFree(options) }
      var values: [String: String] = [:]
      var option = options
      while let keyword = option.pointee.keyword {
        if let value = option.pointee.val {
          values[String(cString: keyword)] = String(cString: value)
        }
        option += 1
      }
      let host = values["host"] ?? values["hostaddr"] ?? "the local socket"
      // A password with an "@" that is not written as %40 reaches into the host. Sockets without a file begin with one.
      let shown = host.split(separator: "@").last ?? ""
      // libpq would cut a name at a zero character.
      problem =
        host.dropFirst().contains("@")
        ? Self.unreadable
        : partition.utf8.contains(0) ? "the partition's name can't have a zero character." : nil
      let port = values["port"].map { ":\($0)" } ?? ""
      let name = values["dbname"] ?? values["user"] ?? "the user's"
      description = "PostgreSQL database \"\(name)\" at \(shown)\(port), partition \"\(partition)\""
    }
  }
#endif
