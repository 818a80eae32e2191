// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The jar that a request uses.
public enum CookieUse: Sendable {
  /// The stack's jar.
  case stack
  /// No jar: only the request's own cookies are sent, and none are stored.
  case none
  /// The given jar instead of the stack's, for a call in another session. A stack without a jar uses it too.
  case jar(CookieJar)
}

extension CookieUse: TransportLayerUse {
  package func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    guard case .jar(let jar) = self, layers[.cookieSending] == nil else { return false }
    layers[.cookieSending] = CookieSending(jar)
    layers[.cookieReceipt] = CookieReceipt(jar)
    return true
  }
}
