// SPDX-License-Identifier: Apache-2.0

/// An assumption of the trust code about libcurl and OpenSSL. The raw value describes the failure if the assumption
/// does not hold. ``TrustSelfCheck`` tests each of them. If one fails, no connection is made whose peer a judge has to
/// accept.
enum TrustAssumption: String, CaseIterable, Sendable {
  /// A key, a certificate, and a port of 127.0.0.1 are available.
  case server = "Lastro could not start the server on 127.0.0.1 that it checks them with"
  /// Changes that Lastro makes to a context take effect in the library that uses it.
  case sameOpenSSL = "libcurl does not speak TLS by the OpenSSL that Lastro is linked with"
  /// Without this, a connection could be made that no judge has seen.
  case hook = "libcurl did not call CURLOPT_SSL_CTX_FUNCTION once for each TLS connection, before its handshake"
  /// The callback that the hook sets is neither replaced nor ignored.
  case verification = "libcurl connected or sent to a server that the verification callback refuses"
  /// OpenSSL checks the name that `X509_VERIFY_PARAM_set1_host` sets.
  case hostName = "X509_verify_cert accepted a certificate for another host"
  /// libcurl provides the connection by `CURLINFO_TLS_SSL_PTR`.
  case connection = "libcurl did not tell CURLOPT_PREREQFUNCTION which TLS connection the request is to be sent on"
  /// This holds for pooled connections, too.
  case prereq = "libcurl sent something before it called CURLOPT_PREREQFUNCTION, on a new or a pooled connection"
  case prereqStops = "libcurl sent a request that CURLOPT_PREREQFUNCTION refused"
  /// A resumed session shows no certificate.
  case noResumption = "libcurl resumed a TLS session although CURLOPT_SSL_SESSIONID_CACHE is 0"
  /// libcurl applies `CURLSSLOPT_ALLOW_BEAST` to proxies alone.
  case proxyMark = "libcurl did not set CURLOPT_PROXY_SSL_OPTIONS for https proxies, and for them alone"
}
