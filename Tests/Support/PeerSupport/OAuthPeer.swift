// SPDX-License-Identifier: Apache-2.0

/// An authorization server of Authlib, on Flask, with the client `cli` and the user `ann`, who is always logged in.
///
/// | target | response |
/// |---|---|
/// | `/.well-known/oauth-authorization-server` | the metadata (RFC 8414); it announces `iss` and `S256` |
/// | `/.well-known/oauth-protected-resource/…` | the metadata of a resource (RFC 9728) that names this server |
/// | `/authorize` | a redirect with a code; with `login_hint=declines` one with an error |
/// | `/token` | codes with PKCE, refresh tokens, which are replaced with each use, and device codes |
/// | `/device_authorization` | a device code; its second poll gets `slow_down` |
/// | `/device?user_code=…` | the user's decision: yes, or no with `&decline` |
/// | `/me` | the user and the scope of a token |
package enum OAuthPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("python")
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "oauth.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

  private static let script = #"""
    import os, sys, time
    from urllib.parse import urlsplit

    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    from authlib.integrations.flask_oauth2 import AuthorizationServer
    from authlib.oauth2 import rfc6749, rfc7636, rfc8414, rfc8628, rfc9207
    from flask import Flask, jsonify, request
    import logging

    port = int(sys.argv[1])
    issuer = f"http://127.0.0.1:{port}"
    codes, tokens, devices, decisions, polls = {}, {}, {}, {}, {}

    class Client(rfc6749.ClientMixin):
        def __init__(self, name): self.name = name
        def get_client_id(self): return self.name
        def get_default_redirect_uri(self): return None
        def get_allowed_scope(self, scope): return scope or ""
        def check_client_secret(self, secret): return False
        def check_endpoint_auth_method(self, method, endpoint): return method == "none"
        def check_response_type(self, kind): return kind == "code"
        def check_grant_type(self, kind): return True

        # Any port of a loopback address (RFC 8252 §7.3).
        def check_redirect_uri(self, url):
            parts = urlsplit(url)
            return parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1") and parts.path == "/callback"

    class Token(dict, rfc6749.TokenMixin):
        def check_client(self, client): return self["client"] == client.name
        def get_scope(self): return self.get("scope", "")
        def get_expires_in(self): return self["expires_in"]
        def is_expired(self): return False
        def is_revoked(self): return self.get("revoked", False)
        def get_user(self): return self["user"]
        def get_client(self): return Client(self["client"])

    class Code(dict, rfc6749.AuthorizationCodeMixin):
        def __getattr__(self, name): return self.get(name)
        def get_redirect_uri(self): return self["redirect_uri"]
        def get_scope(self): return self["scope"]

    class CodeGrant(rfc6749.grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

        def save_authorization_code(self, code, request):
            data = request.payload.data
            codes[code] = Code(
                client=request.client.name, redirect_uri=request.payload.redirect_uri, scope=request.payload.scope,
                user="ann", code_challenge=data.get("code_challenge"),
                code_challenge_method=data.get("code_challenge_method"))

        def query_authorization_code(self, code, client):
            found = codes.get(code)
            return found if found and found["client"] == client.name else None

        def delete_authorization_code(self, found):
            for code in [code for code, value in codes.items() if value is found]:
                del codes[code]

        def authenticate_user(self, found): return found["user"]

    class RefreshGrant(rfc6749.grants.RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, text):
            return next((token for token in tokens.values() if token.get("refresh_token") == text and not token.is_revoked()), None)

        def authenticate_user(self, token): return token["user"]
        def revoke_old_credential(self, token): token["revoked"] = True

    class DeviceGrant(rfc8628.DeviceCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

        def query_device_credential(self, code): return devices.get(code)

        def query_user_grant(self, user_code):
            return ("ann", decisions[user_code]) if user_code in decisions else None

        def should_slow_down(self, credential):
            polls[credential["user_code"]] = polls.get(credential["user_code"], 0) + 1
            return polls[credential["user_code"]] == 2

    class DeviceEndpoint(rfc8628.DeviceAuthorizationEndpoint):
        CLIENT_AUTH_METHODS = ["none"]
        INTERVAL = 1

        def get_verification_uri(self): return f"{issuer}/device"

        def save_device_credential(self, client, scope, data):
            devices[data["device_code"]] = rfc8628.DeviceCredentialDict(
                client_id=client, scope=scope, expires_at=time.time() + data["expires_in"], **data)

    class Issuer(rfc9207.IssuerParameter):
        def get_issuer(self): return issuer

    app = Flask("peer")
    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
    app.json.sort_keys = False

    def save(token, request):
        tokens[token["access_token"]] = Token(token, client=request.client.name, user=str(request.user))

    server = AuthorizationServer(app, query_client=lambda name: Client(name) if name == "cli" else None, save_token=save)
    server.register_grant(CodeGrant, [rfc7636.CodeChallenge(required=True)])
    server.register_grant(RefreshGrant)
    server.register_grant(DeviceGrant)
    server.register_endpoint(DeviceEndpoint)
    server.register_extension(Issuer())

    @app.get("/.well-known/<name>")
    def metadata(name):
        document = rfc8414.AuthorizationServerMetadata(
            issuer=issuer, authorization_endpoint=f"{issuer}/authorize", token_endpoint=f"{issuer}/token",
            device_authorization_endpoint=f"{issuer}/device_authorization", response_types_supported=["code"],
            code_challenge_methods_supported=["S256"], authorization_response_iss_parameter_supported=True)
        return jsonify(document) if name == "oauth-authorization-server" else ("", 404)

    @app.get("/.well-known/oauth-protected-resource/<path:path>")
    def resource(path):
        return jsonify(resource=f"{issuer}/{path}", authorization_servers=[issuer])

    @app.get("/authorize")
    def authorize():
        grant = server.get_consent_grant(end_user="ann")
        return server.create_authorization_response(
            grant_user=None if request.args.get("login_hint") == "declines" else "ann", grant=grant)

    @app.post("/token")
    def token(): return server.create_token_response()

    @app.post("/device_authorization")
    def device(): return server.create_endpoint_response("device_authorization")

    @app.get("/device")
    def decide():
        decisions[request.args["user_code"]] = request.args.get("decline") is None
        return "decided"

    @app.get("/me")
    def me():
        found = tokens.get(request.headers.get("Authorization", "").removeprefix("Bearer "))
        return jsonify(user=found["user"], scope=found["scope"]) if found and not found.is_revoked() else ("", 401)

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.run("127.0.0.1", port, threaded=True)

    """#
}
