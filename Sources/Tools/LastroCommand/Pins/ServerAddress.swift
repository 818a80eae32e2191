// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro

/// A server on the command line: `HOST` or `HOST:PORT`, with an IPv6 address in brackets if a port follows.
struct ServerAddress: Hashable {
  var host: HostName
  var port: Int

  init(_ text: String) throws {
    do {
      (host, port) = try Self.read(text)
    } catch {
      throw ValidationError("\(text.onOneLine): \(error); write HOST or HOST:PORT, such as example.com:8443.")
    }
  }

  private static func read(_ text: String) throws -> (HostName, Int) {
    guard !text.contains("/") else {
      throw ConfigurationError("the address is a URL")
    }
    let start = text.hasPrefix("[") ? text.firstIndex(of: "]") ?? text.endIndex : text.startIndex
    let colons = text[start...].count { $0 == ":" }
    // Several colons without brackets form an IPv6 address.
    guard colons == 1, let colon = text[start...].firstIndex(of: ":") else { return (try HostName(text), 443) }
    let digits = text[text.index(after: colon)...]
    guard let port = Int(digits), (1...65_535).contains(port), digits.allSatisfy(\.isNumber) else {
      throw ConfigurationError("the port \"\(digits.description.onOneLine)\" is not a number from 1 to 65535")
    }
    return (try HostName(String(text[..<colon])), port)
  }

  /// The host as written in URLs.
  var name: String { host.text.bracketedHost }
  var url: String { "https://\(name):\(port)/" }
}

extension ServerAddress: CustomStringConvertible {
  var description: String { "\(name):\(port)" }
}
