// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Access tokens", .timeLimit(.minutes(15)))
struct AccessTokenTests {
  @Test("The token types Bearer and DPoP are accepted in any case, and no other type")
  func types() throws {
    for type in ["Bearer", "bearer", "BEARER", "DPoP", "dpop"] {
      let token = try AccessToken("t", type: type)
      #expect(token.value == "t" && token.type == (type.lowercased() == "dpop" ? "DPoP" : "Bearer"))
    }
    for type in ["MAC", "DPoP2", "", "Bearer "] {
      #expect(throws: ConfigurationError.self) { try AccessToken("t", type: type) }
    }
  }

  @Test("An authenticator sends a token with the scheme of its type, and keeps the type")
  func scheme() async throws {
    for type in ["Bearer", "DPoP"] {
      let token = try AccessToken("t", type: type)
      let bearer = try BearerAuthenticator.test(CustomAccessTokenSource { _ in token }, token: token)
      #expect(bearer.token?.type == type)
      #expect(try await bearer.field() == "\(type) t")
      // A redirected request still has the field of the request before it.
      #expect(try await bearer.field(fields: [.authorization: "dpop t0"]) == "\(type) t")
    }
  }

  @Test("A token that cannot be sent in a field is refused without showing it")
  func values() {
    for value in ["", "hidden token", "hidden\r\n", "hidden\0", "hiddén", "\thidden", "Bearer hidden"] {
      let error = #expect(throws: ConfigurationError.self) { try AccessToken(Secret(value)) }
      #expect(error?.description.contains("hidd") == false)
    }
    for value in ["a", "eyJ.-_~+/==", "1|ab:c", "!\"#$%&'"] {
      #expect(throws: Never.self) { try AccessToken(Secret(value)) }
    }
    #expect(throws: ConfigurationError.self) { try AccessToken("t", expiresIn: .seconds(-1)) }
  }

  @Test("Neither the token's nor the authenticator's description shows secrets")
  func masked() throws {
    let token = try AccessToken("hidden-a", expiresIn: .seconds(1), refreshToken: "hidden-r", scope: "read")
    let bearer = try BearerAuthenticator.test(CustomAccessTokenSource { _ in token }, token: token)
    var text = "\(token) \(String(reflecting: token)) \(bearer) \(String(reflecting: bearer))"
    dump(token, to: &text)
    dump(bearer, to: &text)
    #expect(!text.contains("hidden") && text.contains("***"))
  }
}
