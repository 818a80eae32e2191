// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// What libcurl's results mean, in one table.
enum CurlCode {
  typealias Meaning = (stage: FailureStage, code: FailureCode, message: String, hint: String?)

  static func explain(
    _ code: CURLcode, facts: clastro_facts, isProxied: Bool, requestSent: Bool, hasHead: Bool, isChunked: Bool
  ) -> Meaning {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return (.resolve, .hostNotFound, "the host name has no address", "check the name, and DNS on this machine")
    case CURLE_COULDNT_RESOLVE_PROXY:
      return (.proxy, .proxyNotFound, "the proxy's name has no address", "check the proxy's URL")
    case CURLE_COULDNT_CONNECT where isProxied:
      return (.proxy, .proxyConnectFailed, "the proxy cannot be reached\(reason(facts))", "check that it runs")
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED:
      return (.connect, .connectFailed, "no connection could be opened\(reason(facts))", nil)
    case CURLE_PROXY:
      return (.proxy, .proxyRefused, "the proxy refused the connection (SOCKS reply \(facts.proxy_error))", nil)
    case CURLE_OPERATION_TIMEDOUT:
      return (.timeout, .connectTimeout, "no connection within the connect limit", nil)
    default: break
    }
    if isProxied, !requestSent, facts.connect_code != 0, facts.connect_code / 100 != 2 {
      return (
        .proxy, .proxyRefused, "the proxy answered CONNECT with \(facts.connect_code)",
        facts.connect_code == 407 ? "give user and password in the proxy's URL" : nil
      )
    }
    if requestSent, let meaning = answer(code, facts: facts, hasHead: hasHead, isChunked: isChunked) { return meaning }
    return tls(code, facts: facts) ?? exchange(code, requestSent: requestSent, hasHead: hasHead, isProxied: isProxied)
  }

  /// Results that blame the caller or the machine, but which libcurl 7.88 also gives for a bad answer.
  private static func answer(
    _ code: CURLcode, facts: clastro_facts, hasHead: Bool, isChunked: Bool
  ) -> Meaning? {
    switch code {
    case CURLE_BAD_FUNCTION_ARGUMENT:  // from its parser of header fields
      return (.response, .malformedResponse, "the response has a line that is no header field", nil)
    case CURLE_OUT_OF_MEMORY where !hasHead:  // CURL_MAX_HTTP_HEADER
      return (.limit, .headTooLarge, "a line of the response head exceeds libcurl's 100 KiB", nil)
    case CURLE_RECV_ERROR where isChunked && facts.os_errno == 0:
      return (.response, .malformedResponse, "the chunks of the body break the rules of HTTP", nil)
    default: return nil
    }
  }

  private static func tls(_ code: CURLcode, facts: clastro_facts) -> Meaning? {
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION: return verification(facts.verify_result, isProxy: false)
    case CURLE_SSL_INVALIDCERTSTATUS:
      return (
        .tls, .certificateStatusInvalid, "the server stapled no good OCSP response for its certificate",
        "it may be revoked, or the server does not staple; requiresStapledStatus asks for it"
      )
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED:
      return (
        .tls, .handshakeFailed, "the TLS handshake failed",
        "the peer may speak no TLS on this port, or share no version or cipher with us"
      )
    case CURLE_SSL_CACERT_BADFILE:
      return (.tls, .invalidTLSConfiguration, "the file of trusted roots cannot be used", "it must be readable PEM")
    case CURLE_SSL_CERTPROBLEM:
      return (
        .tls, .invalidTLSConfiguration, "the client certificate or its key cannot be used",
        "both must be PEM, belong together, and an encrypted key needs its password"
      )
    case CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_ISSUER_ERROR, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CLIENTCERT:
      return (.tls, .handshakeFailed, text(code), nil)
    default: return nil
    }
  }

  /// Told apart by OpenSSL's verify result (`X509_V_ERR_…`).
  static func verification(_ result: Int, isProxy: Bool) -> Meaning {
    let stage: FailureStage = isProxy ? .proxy : .tls
    let whose = isProxy ? "the proxy's certificate" : "the certificate"
    switch result {
    case 9, 10:
      return (stage, .certificateExpired, "\(whose) is not valid now", "check its dates, and this machine's clock")
    case 1, 62, 64:
      return (stage, .hostMismatch, "\(whose) is not for this host", "check the host name in the URL")
    // Self-signed, or its issuer not found.
    case 2, 18, 19, 20, 21:
      return (
        stage, .untrustedCertificate, "\(whose) leads to no trusted root: \(verifyText(result))",
        "give the issuing root with TLSOptions.roots, or install it in the system's bundle; the server has to send the "
          + "certificates in between"
      )
    default:
      return (
        stage, .untrustedCertificate, "the chain of \(whose) is refused: \(verifyText(result))",
        "whoever issued it has to mend it"
      )
    }
  }

  private static func verifyText(_ result: Int) -> String { String(cString: clastro_verify_text(Int(result))) }

  private static func exchange(_ code: CURLcode, requestSent: Bool, hasHead: Bool, isProxied: Bool) -> Meaning {
    switch code {
    case CURLE_PARTIAL_FILE where !hasHead:
      return (.response, .connectionLost, "the connection ended before an answer came", nil)
    case CURLE_PARTIAL_FILE:
      return (.response, .truncatedBody, "the connection ended before the body did", nil)
    case CURLE_GOT_NOTHING:
      return (.response, .connectionLost, "the server closed the connection without an answer", nil)
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return (.response, .malformedResponse, "the response breaks the rules of HTTP", nil)
    case CURLE_BAD_CONTENT_ENCODING:  // of Transfer-Encoding, before our own reader has the head
      return (.response, .malformedResponse, "Transfer-Encoding is something else than chunked, once", nil)
    case CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return (.response, .http2Failure, "the HTTP/2 stream was reset or broken", nil)
    case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND:
      return (.send, requestSent ? .connectionLost : .sendFailed, "the request could not be sent in full", nil)
    case CURLE_RECV_ERROR where !requestSent && isProxied:
      return (.proxy, .proxyRefused, "the proxy ended the connection instead of opening a tunnel", nil)
    case CURLE_RECV_ERROR:
      return hasHead
        ? (.response, .truncatedBody, "the connection was reset before the body ended", nil)
        : (.response, .connectionLost, "the connection was reset before a response came", nil)
    case CURLE_URL_MALFORMAT:
      return (.request, .invalidURL, "libcurl cannot parse the URL", nil)
    case CURLE_BAD_FUNCTION_ARGUMENT, CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION, CURLE_SETOPT_OPTION_SYNTAX:
      return (.request, .invalidOption, "libcurl does not accept an option: \(text(code))", nil)
    default:
      return (requestSent ? .response : .connect, .engineFailure, text(code), nil)
    }
  }

  private static func reason(_ facts: clastro_facts) -> String {
    facts.os_errno == 0 ? "" : ": \(SystemError.text(Int32(facts.os_errno)))"
  }

  static func text(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }
}
