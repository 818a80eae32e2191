// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroWire

/// A list of public suffixes: names under which anyone can register a name (publicsuffix.org), such as `com`, `co.uk`,
/// `github.io`.
///
/// Rules of registries (ICANN) and of companies (private) are treated alike. International rules are compared as
/// A-labels. If no rule matches a name, its last label is the public suffix, as the list's own rules define.
///
/// ```swift
/// let list = PublicSuffixList.system
/// list.registrableDomain(of: try HostName("www.example.co.uk"))    // example.co.uk
/// ```
package struct PublicSuffixList: Sendable {
  /// The machine's list, from ``systemPath``: Debian's package `publicsuffix`. It is read once, at the first use, which
  /// takes some milliseconds.
  ///
  /// If the file is missing, the list ``isEmpty``. Only single labels are public suffixes then, and `co.uk` is not.
  package static let system: PublicSuffixList = {
    guard let data = try? Data(contentsOf: URL(filePath: systemPath)) else { return PublicSuffixList(text: "") }
    return data.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: UInt8.self) { PublicSuffixList(reading: $0) }
    }
  }()

  /// The path of the file of ``system``: `/usr/share/publicsuffix/public_suffix_list.dat`.
  package static let systemPath = "/usr/share/publicsuffix/public_suffix_list.dat"

  /// The number of rules.
  package let ruleCount: Int
  /// Whether the list has no rule. For ``system``, this means that the file is missing.
  package var isEmpty: Bool { ruleCount == 0 }
  /// The rules that could not be parsed.
  package let skipped: [String]
  private let rules: [String: PublicSuffixRule]

  /// Parses a list in the format of publicsuffix.org. Lines that are not rules are skipped.
  package init(text: String) {
    var text = text
    self = text.withUTF8 { PublicSuffixList(reading: $0) }
  }

  private init(reading bytes: UnsafeBufferPointer<UInt8>) {
    let parser = PublicSuffixParser(bytes) { text in
      guard let host = try? HostName(text), !host.isIPAddress else { return nil }
      return host.text
    }
    ruleCount = parser.count
    skipped = parser.skipped
    rules = parser.rules
  }

  /// Returns whether `host` is itself a public suffix. An IP address never is.
  package func isPublicSuffix(_ host: HostName) -> Bool {
    !host.isIPAddress && suffix(of: host.text).utf8.count == host.text.utf8.count
  }

  /// Returns whether there is a rule for exactly this name.
  func hasRule(for host: HostName) -> Bool { rules[host.text] != nil }

  /// Returns the public suffix of `host` with one more label; `nil` if `host` is a public suffix or an IP address.
  package func registrableDomain(of host: HostName) -> HostName? {
    guard !host.isIPAddress else { return nil }
    let text = host.text
    let suffix = suffix(of: text)
    guard suffix.startIndex > text.startIndex else { return nil }
    let dot = text.utf8.index(before: suffix.startIndex)
    let start = text.utf8[..<dot].lastIndex(of: UInt8(ascii: ".")).map { text.utf8.index(after: $0) }
    return HostName(suffix: text[(start ?? text.startIndex)...])
  }

  /// Returns the public suffix of a name. An exception rule prevails; its suffix is the name of the rule without the
  /// first label. Otherwise the rule with the most labels applies; if no rule matches, the suffix is the last label.
  private func suffix(of name: String) -> Substring {
    var longest: Substring?
    var child: Substring?
    var rest = name[...]
    while true {
      let rule = rules[String(rest)] ?? []
      let parent = rest.utf8.firstIndex(of: UInt8(ascii: ".")).map { name[name.utf8.index(after: $0)...] }
      if rule.contains(.exception), let parent { return parent }
      if longest == nil, rule.contains(.wildcard) { longest = child }
      if longest == nil, rule.contains(.plain) { longest = rest }
      guard let parent else { return longest ?? rest }
      child = rest
      rest = parent
    }
  }
}
