// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The addresses that the system knows for a name.
package enum SystemAddresses {
  /// Looks up a name by `getaddrinfo`, which may block for any length of time.
  ///
  /// - Returns: the addresses as text, each once and in the system's order, and the result of `getaddrinfo`, which is 0
  ///   on success.
  package static func lookUp(_ name: String) -> (addresses: [String], code: Int32) {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(name, nil, &hints, &list)
    guard code == 0 else { return ([], code) }
    defer { if let list { freeaddrinfo(list) } }
    var found: [String] = []
    var next = list
    while let entry = next {
      if let text = text(of: entry.pointee), !found.contains(text) { found.append(text) }
      next = entry.pointee.ai_next
    }
    return (found, 0)
  }

  private static func text(of entry: addrinfo) -> String? {
    var text = [CChar](repeating: 0, count: 64)
    guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
    else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
