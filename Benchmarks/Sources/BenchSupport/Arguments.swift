// SPDX-License-Identifier: Apache-2.0

/// The command line: a scenario, and `key=value` pairs in any order.
public struct Arguments: Sendable {
  /// What is measured.
  public let scenario: Scenario
  private let values: [String: String]

  /// The keys there are; another one is a slip of the pen, and would go unnoticed.
  private static let keys: Set<String> = [
    "url", "url2", "concurrency", "requests", "warmup", "size", "ca", "http", "file", "connections", "pins",
    "interceptors", "waiting", "loops", "executor",
  ]

  /// Reads a command line without the program's name.
  public init(_ words: some Collection<String>) throws(BenchFailure) {
    guard let name = words.first, let scenario = Scenario(rawValue: name) else {
      let names = Scenario.allCases.map(\.rawValue).joined(separator: " | ")
      throw .failed("usage: \(names) key=value …")
    }
    self.scenario = scenario
    var values: [String: String] = [:]
    for word in words.dropFirst() {
      guard let equals = word.firstIndex(of: "="), Self.keys.contains(String(word[..<equals])) else {
        throw .failed("\(word) is not one of \(Self.keys.sorted().joined(separator: "=, "))=")
      }
      values[String(word[..<equals])] = String(word[word.index(after: equals)...])
    }
    self.values = values
  }

  /// For clients that cannot follow some keys: to ignore one would be to measure something else.
  public func refuse(_ keys: String...) throws(BenchFailure) {
    for key in keys where values[key] != nil { throw .unsupported("the client has nothing for \(key)=") }
  }

  /// The value of a key, where it was given.
  public subscript(key: String) -> String? { values[key] }

  /// The value of a key that has to be there.
  public func required(_ key: String) throws(BenchFailure) -> String {
    guard let value = values[key] else { throw .failed("\(key)= is missing") }
    return value
  }

  /// The number of a key, where it was given.
  public func number(_ key: String) throws(BenchFailure) -> Int? {
    guard let value = values[key] else { return nil }
    guard let number = Int(value), number >= 0 else { throw .failed("\(key)=\(value) is not a number of 0 or more") }
    return number
  }
}

extension Arguments {
  /// Requests in flight. Default 1.
  public var concurrency: Int {
    get throws(BenchFailure) { max(1, try number("concurrency") ?? 1) }
  }

  /// Requests that are measured. Default 1.
  public var requests: Int {
    get throws(BenchFailure) { max(1, try number("requests") ?? 1) }
  }

  /// Requests before the measuring. Default 200, or one for each in flight where these are more; one of a large body.
  public var warmup: Int {
    get throws(BenchFailure) {
      if let given = try number("warmup") { return given }
      if [.download, .upload].contains(scenario) { return 1 }
      return max(try concurrency, 200)
    }
  }

  /// Whether HTTP/2 is asked for.
  public var isHTTP2: Bool {
    get throws(BenchFailure) {
      switch values["http"] ?? "1" {
      case "1": return false
      case "2": return true
      case let other: throw .failed("http=\(other): it is 1 or 2")
      }
    }
  }
}
