// SPDX-License-Identifier: Apache-2.0

/// The settings of a stub resolver, as `/etc/resolv.conf` has them (resolv.conf(5)).
package struct ResolverSettings: Sendable, Hashable {
  /// The limits that glibc has, too; further servers and domains are ignored.
  package static let mostServers = 3
  package static let mostDomains = 32
  /// The maximum size of the file in bytes. What is beyond it is ignored.
  package static let mostBytes = 65_536

  /// The addresses of the servers, in the order in which they are asked.
  package var servers: [String] = []
  /// The domains that names are looked up in.
  package var domains: [String] = []
  /// The number of dots from which on a name is looked up as it is first. Default 1, at most 15.
  package var dots = 1
  /// The time in seconds for a server's answer. Default 5, at most 30.
  package var seconds = 5
  /// The number of times that each server is asked. Default 2, at most 5.
  package var attempts = 2
  /// Whether servers are asked over TCP only.
  package var usesStreams = false

  /// Reads the text of the file. Lines that cannot be read are ignored. Without a server, this machine is asked.
  package init(_ bytes: some Sequence<UInt8>) {
    for words in TableLines(bytes.prefix(Self.mostBytes), comments: "#;") { read(words) }
    if servers.isEmpty { servers = ["127.0.0.1"] }
  }

  private mutating func read(_ words: [String]) {
    guard let first = words.first, words.count > 1 else { return }
    switch first {
    case "nameserver":
      // An address that needs a zone cannot be dialed.
      guard servers.count < Self.mostServers, !words[1].utf8.contains(UInt8(ascii: "%")) else { return }
      servers.append(words[1])
    case "domain": domains = Self.domains([words[1]])
    case "search": domains = Self.domains(words.dropFirst())
    case "options": for word in words.dropFirst() { option(word) }
    default: break
    }
  }

  private static func domains(_ words: some Sequence<String>) -> [String] {
    words.prefix(mostDomains).compactMap { word in
      let name = word.utf8.last == UInt8(ascii: ".") ? String(word.dropLast()) : word
      // The root has no name to add.
      return DNSQuestion(name, .a) == nil ? nil : name
    }
  }

  private mutating func option(_ word: String) {
    if word == "use-vc" { usesStreams = true }
    let parts = word.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, parts[1].utf8.count <= 4, let number = Int(parts[1]), number >= 0 else { return }
    switch parts[0] {
    case "ndots": dots = min(number, 15)
    case "timeout": seconds = min(max(number, 1), 30)
    case "attempts": attempts = min(max(number, 1), 5)
    default: break
    }
  }

  /// Returns the names to look up for a name, in order: those in the domains, and the name itself.
  package func candidates(for name: String) -> [String] {
    if name.utf8.last == UInt8(ascii: ".") { return [String(name.dropLast())] }
    let inDomains = domains.map { "\(name).\($0)" }
    let isFirst = name.utf8.count { $0 == UInt8(ascii: ".") } >= dots
    return isFirst ? [name] + inDomains : inDomains + [name]
  }
}

/// The addresses of names in `/etc/hosts` (hosts(5)).
package struct HostsTable: Sendable {
  /// The maximum size of the file in bytes. What is beyond it is ignored.
  package static let mostBytes = 1_048_576

  private var addresses: [String: [String]] = [:]

  /// Reads the text of the file.
  package init(_ bytes: some Sequence<UInt8>) {
    for words in TableLines(bytes.prefix(Self.mostBytes), comments: "#") {
      guard let address = words.first, !address.utf8.contains(UInt8(ascii: "%")) else { continue }
      for name in words.dropFirst() { addresses[name.lowercased(), default: []].append(address) }
    }
  }

  /// Returns the addresses of a name as the file has them, at most 64; `nil` if it is not in the file.
  ///
  /// - Parameter name: the name in lower case, without a final dot.
  package func addresses(of name: String) -> [String]? {
    addresses[name].map { Array($0.prefix(DNSReader.mostAddresses)) }
  }
}

/// The lines of a system file as words, without blank lines and comments.
private struct TableLines: Sequence, IteratorProtocol {
  private var lines: ArraySlice<ArraySlice<UInt8>>
  private let comments: [UInt8]

  init(_ bytes: some Sequence<UInt8>, comments: String) {
    lines = Array(bytes).split(separator: UInt8(ascii: "\n"))[...]
    self.comments = Array(comments.utf8)
  }

  mutating func next() -> [String]? {
    while let line = lines.popFirst() {
      let text = line.prefix { !comments.contains($0) }
      let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
      if !words.isEmpty { return words.map { String(decoding: $0, as: UTF8.self) } }
    }
    return nil
  }
}
