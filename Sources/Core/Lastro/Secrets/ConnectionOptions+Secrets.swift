// SPDX-License-Identifier: Apache-2.0

extension ConnectionOptions {
  /// The password of the client's key, the proxy's user information as a whole, and the password in it. The user name
  /// alone is not a secret.
  var secrets: Set<Secret> {
    var texts: [String] = []
    if let password = tls.identity?.keyPassword { texts.append(password) }
    if case .url(let url, _) = proxy, let at = url.utf8.lastIndex(of: UInt8(ascii: "@")) {
      let information = url[(url.firstRange(of: "://")?.upperBound ?? url.startIndex)..<at]
      texts.append(Self.decoded(information))
      if let colon = information.utf8.firstIndex(of: UInt8(ascii: ":")) {
        texts.append(Self.decoded(information[information.utf8.index(after: colon)...]))
      }
    }
    return Set(texts.map { Secret($0) })
  }

  private static func decoded(_ text: Substring) -> String {
    text.percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) } ?? String(text)
  }
}
