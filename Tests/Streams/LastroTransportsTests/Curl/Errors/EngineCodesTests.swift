// SPDX-License-Identifier: Apache-2.0

import CLastro
import Glibc
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl

/// The results of libcurl and OpenSSL, and the stage and code that callers see for them.
@Suite("Codes of the engine")
struct EngineCodesTests {
  private func words(
    _ code: CURLcode, isProxied: Bool = false, connectStatus: Int = 0, osError: Int32 = 0
  ) -> String {
    var facts = clastro_facts()
    facts.connect_code = connectStatus
    facts.os_errno = Int(osError)
    let ends = CurlCode.Ends(
      server: "a.example:443", host: "a.example", proxy: isProxied ? "proxy.example:3128" : "", socket: nil,
      connectTimeout: .seconds(10))
    return CurlCode.explain(code, of: ends, facts: facts).words
  }

  @Test("Each result of libcurl has the stage in which the request failed")
  func results() {
    #expect(words(CURLE_COULDNT_RESOLVE_HOST) == "resolve/host_not_found")
    #expect(words(CURLE_COULDNT_CONNECT) == "connect/connect_failed")
    #expect(words(CURLE_COULDNT_CONNECT, osError: ECONNREFUSED) == "connect/connect_failed")
    #expect(words(CURLE_OPERATION_TIMEDOUT) == "timeout/connect_timeout")
    #expect(words(CURLE_SSL_CONNECT_ERROR) == "tls/handshake_failed")
    #expect(words(CURLE_PEER_FAILED_VERIFICATION) == "tls/untrusted_certificate")
    #expect(words(CURLE_GOT_NOTHING) == "response/connection_lost")
    #expect(words(CURLE_RECV_ERROR) == "response/connection_lost")
    #expect(words(CURLE_SEND_ERROR) == "send/send_failed")
    #expect(words(CURLE_URL_MALFORMAT) == "request/invalid_url")
  }

  @Test("A failure to reach or pass a proxy is the proxy's, not the server's")
  func proxies() {
    #expect(words(CURLE_COULDNT_RESOLVE_PROXY, isProxied: true) == "proxy/proxy_not_found")
    #expect(words(CURLE_COULDNT_CONNECT, isProxied: true) == "proxy/proxy_connect_failed")
    #expect(words(CURLE_PROXY, isProxied: true) == "proxy/proxy_refused")
    for status in [407, 403, 502, 500] {
      #expect(words(CURLE_RECV_ERROR, isProxied: true, connectStatus: status) == "proxy/proxy_refused", "\(status)")
    }
  }

  @Test("A certificate that fails verification says whether it expired, is for another host, or has no known issuer")
  func verification() {
    let codes: [(Int32, String)] = [
      (X509_V_ERR_CERT_HAS_EXPIRED, "certificate_expired"), (X509_V_ERR_CERT_NOT_YET_VALID, "certificate_expired"),
      (X509_V_ERR_HOSTNAME_MISMATCH, "host_mismatch"),
      (X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "untrusted_certificate"),
      (12, "untrusted_certificate"),
    ]
    for (result, code) in codes {
      for isProxy in [false, true] {
        let failure = VerifyFailure(result: result).failure(of: "a.example:443", isProxy: isProxy)
        #expect(failure.words == (isProxy ? "proxy/" : "tls/") + code)
      }
    }
  }

  @Test("A TLS alert that asks for a client certificate has a code of its own")
  func alerts() {
    let alerts: [(Int32, Bool, String)] = [
      (40, false, "handshake_failed"), (40, true, "client_certificate_required"),
      (116, false, "client_certificate_required"), (120, false, "handshake_failed"),
    ]
    for (value, wasMissing, code) in alerts {
      let failure = TLSAlert(value: value, certificateWasMissing: wasMissing).failure(.tls, requestSent: false)
      #expect(failure.words == "tls/" + code, "\(value)")
    }
  }
}
