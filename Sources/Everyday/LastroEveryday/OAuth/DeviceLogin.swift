// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

/// A login that a user completes in the browser of another device, by a code (RFC 8628).
///
/// Show ``userCode`` and ``verificationURL`` to the user, and call ``token()``.
public struct DeviceLogin: Sendable {
  /// The code that the user enters; at most 100 visible characters. Every person who enters it lets the program act for
  /// them, so show it to the user only.
  public let userCode: String
  /// The address at which the user enters the code: `https`, or on this machine.
  public let verificationURL: String
  /// The address with the code in it, for a QR code; `nil` if the server has none.
  public let completeVerificationURL: String?
  /// The lifetime of the code from the response on, at most a day.
  public let expiresIn: Duration
  private let deviceCode: Secret
  private let interval: Int?
  private let end: Duration
  private let login: OAuth2Login
  private let scope: String?

  /// Reads the response of a device authorization endpoint (§3.2).
  init(_ answer: ServerMetadata, login: OAuth2Login, scope: String?, at now: Duration) throws(OAuth2LoginError) {
    guard let userCode = answer.text("user_code"), (1...100).contains(userCode.utf8.count),
      userCode == userCode.onOneLine
    else { throw .invalidAnswer("it has no user_code of 1 to 100 characters") }
    guard let deviceCode = answer.text("device_code"), !deviceCode.isEmpty else {
      throw .invalidAnswer("it has no device_code")
    }
    guard let seconds = answer.integer("expires_in"), seconds > 0 else { throw .invalidAnswer("it has no expires_in") }
    let allowsLoopback = (try? Origin(login.client.tokenURL))?.isLoopback ?? false
    // Google's name of the member is older than the RFC.
    let name = answer.text("verification_uri") == nil ? "verification_url" : "verification_uri"
    guard let address = try answer.endpoint(name, allowsLoopback: allowsLoopback) else {
      throw .invalidAnswer("it has no verification_uri")
    }
    (self.userCode, verificationURL, self.deviceCode) = (userCode, address, Secret(deviceCode))
    completeVerificationURL = try answer.endpoint("verification_uri_complete", allowsLoopback: allowsLoopback)
    expiresIn = .seconds(min(seconds, 86_400))
    interval = answer.integer("interval")
    (end, self.login, self.scope) = (now + expiresIn, login, scope)
  }

  /// Waits until the user has logged in, and returns the token.
  ///
  /// The server is asked at the interval that it wants, by default every 5 s, and less often when it says `slow_down`. A
  /// poll that gets no response is repeated after twice the interval, then four times, up to a minute, until the code
  /// expires. The clock is that of the stack. Call it once: a code leads to one token.
  ///
  /// - Throws: ``OAuth2LoginError``: `refused` with `access_denied` if the user declined, `expired` if the code has
  ///   expired, `cancelled` if the task was cancelled.
  public func token() async throws(OAuth2LoginError) -> AccessToken {
    let time = login.stack.ownConfiguration.timeSource
    let request = OAuth2TokenRequest(
      client: login.client,
      fields: [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", deviceCode),
      ], scope: scope)
    var polling = DevicePolling(interval: interval)
    while true {
      guard time.now() + polling.pause < end else { throw .expired }
      do { try await time.sleep(polling.pause) } catch { throw .cancelled }
      if Task.isCancelled { throw .cancelled }
      do throws(OAuth2Error) {
        return try await request.send(over: login.stack)
      } catch {
        guard let event = DevicePolling.Event(error) else { throw OAuth2LoginError(error) }
        polling.note(event)
      }
    }
  }
}

extension DevicePolling.Event {
  /// Reads the failure of a poll; `nil` if it ends the login.
  init?(_ error: OAuth2Error) {
    switch error {
    case .refused(_, "authorization_pending", _): self = .pending
    case .refused(_, "slow_down", _): self = .slowDown
    case .fetch(let error) where RetryInterceptor.isEligible(error, [], isIdempotent: true, hasKey: false):
      self = .unreachable(retryAfter: error.retryAfter)
    default: return nil
    }
  }
}

extension OAuth2Login {
  /// Starts a login that the user completes on another device (RFC 8628 §3.1).
  ///
  /// ```swift
  /// let device = try await login.authorizeDevice(scope: "read")
  /// print("Open \(device.verificationURL) and enter \(device.userCode)")
  /// let token = try await device.token()
  /// ```
  ///
  /// - Parameters:
  ///   - scope: the requested scope: names, separated by spaces. Default: the server's default.
  ///   - parameters: additional parameters, such as `audience` or `resource`. Default none.
  /// - Throws: ``OAuth2LoginError``: `unsupported` if the server has no device authorization endpoint, `refused` if it
  ///   refuses the client.
  public func authorizeDevice(
    scope: String? = nil, parameters: KeyValuePairs<String, String> = [:]
  ) async throws(OAuth2LoginError) -> DeviceLogin {
    guard let deviceAuthorizationURL else {
      throw .unsupported("it has no device authorization endpoint (use a login in the browser)")
    }
    try Self.check(parameters)
    let fields = (scope.map { [("scope", Secret($0))] } ?? []) + parameters.map { ($0.key, Secret($0.value)) }
    let request = OAuth2TokenRequest(client: client, fields: fields, scope: nil, url: deviceAuthorizationURL)
    let answer: ServerMetadata?
    do throws(OAuth2Error) {
      answer = ServerMetadata(try await request.body(over: stack))
    } catch {
      throw OAuth2LoginError(error)
    }
    guard let answer else { throw .invalidAnswer("it is not a JSON object") }
    return try DeviceLogin(answer, login: self, scope: scope, at: stack.ownConfiguration.timeSource.now())
  }
}
